// Random programs for the runtime: tasks that send, receive, hold permits, race, time out, spawn, fail and are
// cancelled, all drawn from one seed, in virtual time. Each seed runs twice and must take the same steps.
//
//   runtime_seeds --seeds 2000        many seeds
//   runtime_seeds --seed 17           one seed again

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/virtual_driver.h"

namespace specgen {
namespace {

constexpr std::size_t kPermits = 3;

// Invariants are checked while it runs; a violation names its seed.
class Fixture {
 public:
  explicit Fixture(std::uint64_t seed)
      : seed_(seed),
        driver_(seed),
        loop_(driver_),
        channel_(loop_, 4),
        permits_(loop_, kPermits),
        bell_(loop_) {}

  std::uint64_t run() {
    loop_.run(run_tasks());
    // All tasks have ended: items sent and not received must still be in the channel, once each.
    while (auto item = channel_.try_receive()) received(*item);
    for (auto [item, times] : deliveries_)
      expect(times == 1, "an item was lost or delivered twice");
    expect(alive_ == 0, "a cancelled task left something alive");
    expect(permits_.free() == kPermits, "a permit was lost");
    return loop_.trace_hash();
  }
  std::uint64_t events() const { return loop_.events(); }

 private:
  void expect(bool holds, std::string_view what) {
    if (holds) return;
    fmt::print(stderr, "seed {}: {}\nreplay: runtime_seeds --seed {}\n", seed_, what, seed_);
    std::exit(1);
  }

  struct Alive {  // counts frames that hold it
    explicit Alive(Fixture& its_fixture) : runtime(its_fixture) { ++runtime.alive_; }
    Alive(const Alive&) = delete;
    ~Alive() { --runtime.alive_; }
    Fixture& runtime;
  };

  // Coarse, so that much falls on the same instant: that is where the bugs are.
  Duration moment() { return std::chrono::milliseconds(loop_.random().below(6)); }

  Task<void> run_tasks() {
    for (int round = 0; round < 5; ++round) {
      TaskGroup group(loop_);
      int people = 1 + static_cast<int>(loop_.random().below(8));
      for (int i = 0; i < people; ++i) group.spawn(person(group, 0));
      // Some days end by themselves, others are called off.
      auto outcome = co_await race(group.join(), loop_.sleep(moment() * 10));
      loop_.trace(static_cast<std::uint64_t>(outcome.winner()));
      bell_.reset();
    }
  }

  Task<Result<void>> person(TaskGroup& group, int depth) {
    Alive alive(*this);
    std::uint64_t deeds = 1 + loop_.random().below(12);
    for (std::uint64_t i = 0; i < deeds; ++i) {
      switch (loop_.random().below(10)) {
        case 0:
          co_await loop_.sleep(moment());
          break;
        case 1:
          co_await loop_.yield();
          break;
        case 2:
          co_await send();
          break;
        case 3:
          co_await receive();
          break;
        case 4:
          co_await race(receive(), send(), loop_.sleep(moment()));
          break;
        case 5:
          (void)co_await with_timeout(loop_, moment(), hold_permit());
          break;
        case 6:
          co_await race(bell_.wait(), loop_.sleep(moment()));
          break;
        case 7:
          bell_.set();
          break;
        case 8:
          if (depth < 3) group.spawn(person(group, depth + 1));
          break;
        case 9:
          if (depth < 3) co_await family(depth + 1);
          break;
      }
    }
    if (loop_.random().chance(0.03)) group.cancel();  // from inside a running child
    if (loop_.random().chance(0.03)) co_return fail(ErrorCode::timeout, "bad day");
    co_return Result<void>();
  }

  Task<void> family(int depth) {
    Alive alive(*this);
    TaskGroup group(loop_);
    group.spawn(person(group, depth));
    group.spawn(person(group, depth));
    auto joined = co_await with_timeout(loop_, moment() * 4, group.join());
    loop_.trace(static_cast<std::uint64_t>(joined.has_value()));
  }

  Task<void> send() {
    Alive alive(*this);
    std::uint64_t item = ++last_item_;
    if (co_await channel_.send(item)) deliveries_.try_emplace(item, 0);
  }
  Task<void> receive() {
    Alive alive(*this);
    auto outcome = co_await race(channel_.receive(), loop_.sleep(moment()));
    if (auto* item = outcome.first()) received(**item);
  }
  void received(std::uint64_t item) {
    loop_.trace(item);
    ++deliveries_[item];
  }

  Task<void> hold_permit() {
    Alive alive(*this);
    auto permit = co_await permits_.acquire();
    ++holders_;
    struct Leave {
      std::size_t& holders;
      ~Leave() { --holders; }
    } leave{holders_};
    expect(holders_ <= kPermits, "more holders than permits");
    co_await loop_.sleep(moment());
  }

  std::uint64_t seed_;
  VirtualDriver driver_;
  Loop loop_;
  Channel<std::uint64_t> channel_;
  Semaphore permits_;
  Event bell_;
  std::map<std::uint64_t, int> deliveries_;
  std::uint64_t last_item_ = 0;
  std::size_t holders_ = 0;
  int alive_ = 0;
};

int run_seeds(std::uint64_t first, std::uint64_t count) {
  std::uint64_t events = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Fixture runtime(seed), again(seed);
    if (runtime.run() != again.run()) {
      fmt::print(stderr, "seed {}: two runs differ\nreplay: runtime_seeds --seed {}\n", seed, seed);
      return 1;
    }
    events += runtime.events();
  }
  fmt::print("{} passed, 0 failed\n({} events, each seed run twice)\n", count, events);
  return 0;
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  std::string_view option = argc == 3 ? argv[1] : "";
  std::uint64_t number = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (option == "--seeds" && number > 0) return specgen::run_seeds(1, number);
  if (option == "--seed") return specgen::run_seeds(number, 1);
  fmt::print(stderr, "usage: runtime_seeds --seeds COUNT | --seed SEED\n");
  return 2;
}
