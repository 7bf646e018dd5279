// The cost of the real driver under the load of a large run, and how soon a cancelled read closes its connection.

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/units.h"
#include "figures.h"
#include "runtime/async_fd.h"
#include "runtime/race.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr int kTimers = 10'000;
constexpr int kSockets = 1'000;
constexpr int kMessagesPerSecond = 50;  // per socket: the tokens of a fast model
constexpr Duration kWindow = 3s;

struct Pair {
  Fd ours, theirs;
};
Pair make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  return {Fd(ends[0]), Fd(ends[1])};
}

double thread_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Task<void> tick(Loop& loop, std::uint64_t& ticks) {
  while (true) {
    co_await loop.sleep(1s);
    ++ticks;
  }
}

Task<void> follow(std::unique_ptr<AsyncFd> socket, std::uint64_t& messages) {
  std::array<char, 4096> buffer;
  while (true) {
    auto n = co_await socket->read_some(buffer);
    if (!n || *n == 0) co_return;
    messages += *n / 64;
  }
}

// The other ends, on a thread of their own: each sends a message every 20 ms, evenly spread.
void send_messages(const std::vector<Fd>& sockets, const std::atomic<bool>& stop) {
  const std::string message(64, 'x');
  auto next = std::chrono::steady_clock::now();
  for (std::size_t i = 0; !stop; ++i) {
    for (std::size_t s = i % 20; s < sockets.size(); s += 20) {
      [[maybe_unused]] ssize_t n =
          ::send(sockets[s].get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    std::this_thread::sleep_until(next +=
                                  std::chrono::milliseconds(1000 / kMessagesPerSecond / 20));
  }
}

struct Cancelled {
  double p99_ms;
  double max_ms;
};

Task<void> decide(Loop& loop, std::chrono::steady_clock::time_point& when) {
  co_await loop.sleep(2ms);
  when = std::chrono::steady_clock::now();
}

// Reads are cancelled one after another under full load; the peer records when it sees the end.
Task<Cancelled> cancel_reads(Loop& loop, RealDriver& driver) {
  std::vector<double> delays_ms;
  std::uint64_t ignored = 0;
  for (int i = 0; i < 500; ++i) {
    Pair pair = make_pair();
    auto opened = AsyncFd::open(loop, driver, std::move(pair.ours));
    std::chrono::steady_clock::time_point seen;
    std::thread peer([&seen, fd = pair.theirs.get()] {
      pollfd poll{fd, POLLIN, 0};
      ::poll(&poll, 1, 10'000);
      seen = std::chrono::steady_clock::now();
    });
    std::chrono::steady_clock::time_point cancelled_at;
    co_await race(follow(std::move(*opened), ignored), decide(loop, cancelled_at));
    peer.join();
    delays_ms.push_back(std::chrono::duration<double, std::milli>(seen - cancelled_at).count());
  }
  co_return Cancelled{quantile(delays_ms, 0.99), quantile(delays_ms, 1)};
}

struct Busy {
  double cores = 0;
  double messages_per_s = 0;
  double ticks_per_s = 0;
  Cancelled cancelled{};
};

Task<Busy> run_load(Loop& loop, RealDriver& driver) {
  std::vector<Fd> theirs;
  std::uint64_t messages = 0, ticks = 0;
  TaskGroup group(loop);
  for (int i = 0; i < kSockets; ++i) {
    Pair pair = make_pair();
    auto opened = AsyncFd::open(loop, driver, std::move(pair.ours));
    group.spawn(follow(std::move(*opened), messages));
    theirs.push_back(std::move(pair.theirs));
  }
  for (int i = 0; i < kTimers; ++i) {
    group.spawn(tick(loop, ticks));
    if (i % 100 == 0) co_await loop.sleep(2ms);  // so that the timers are out of phase
  }
  std::atomic<bool> stop = false;
  std::thread sender([&] { send_messages(theirs, stop); });
  co_await loop.sleep(500ms);
  Busy busy;
  std::uint64_t messages_before = messages, ticks_before = ticks;
  double cpu_before = thread_cpu_seconds();
  Stopwatch watch;
  co_await loop.sleep(kWindow);
  double wall = watch.seconds();
  busy.cores = (thread_cpu_seconds() - cpu_before) / wall;
  busy.messages_per_s = static_cast<double>(messages - messages_before) / wall;
  busy.ticks_per_s = static_cast<double>(ticks - ticks_before) / wall;
  busy.cancelled = co_await cancel_reads(loop, driver);
  stop = true;
  sender.join();
  co_return busy;
}

}  // namespace

void bench_real_driver() {
  heading("Real driver: 10,000 timers of 1 s, 1,000 sockets with 50 messages/s each");
  RealDriver driver(1);
  Loop loop(driver);
  Busy busy = loop.run(run_load(loop, driver));
  at_most("processor time of the loop's thread", busy.cores, 1,
          fmt::format("{:.2f} cores", busy.cores), "1 core");
  note("messages handled", format_count(busy.messages_per_s) + "/s");
  note("timers fired", format_count(busy.ticks_per_s) + "/s");
  at_most("cancelled read to the peer seeing the end, p99", busy.cancelled.p99_ms, 5,
          fmt::format("{:.3f} ms", busy.cancelled.p99_ms), "5 ms");
  note("  the longest of 500", fmt::format("{:.3f} ms", busy.cancelled.max_ms));
}

}  // namespace specgen
