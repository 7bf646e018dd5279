// The speed of virtual time, and the cost of a sleeping task.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <queue>

#include "base/units.h"
#include "figures.h"
#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/virtual_driver.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

Task<void> sleeper(Loop& loop, int naps) {
  for (int i = 0; i < naps; ++i) co_await loop.sleep(Duration(1 + loop.random().below(1'000'000)));
}

Task<void> racer(Loop& loop, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await race(loop.sleep(Duration(1 + loop.random().below(1'000'000))),
                  loop.sleep(Duration(1 + loop.random().below(1'000'000))));
  }
}

// A token stream as in the simulator: produced, passed through a channel, with an idle timeout.
Task<void> produce(Loop& loop, Channel<int>& channel, int count) {
  for (int i = 0; i < count; ++i) {
    co_await loop.sleep(Duration(1 + loop.random().below(1'000'000)));
    co_await channel.send(i);
  }
  channel.close();
}
Task<void> consume(Loop& loop, Channel<int>& channel) {
  while (true) {
    auto event = co_await race(channel.receive(), loop.sleep(1s));
    if (event.second() || !*event.first()) co_return;
  }
}
Task<void> stream(Loop& loop, int count) {
  Channel<int> channel(loop, 16);
  TaskGroup group(loop);
  group.spawn(produce(loop, channel, count));
  group.spawn(consume(loop, channel));
  (void)co_await group.join();
}

using Workload = Task<void> (*)(Loop&, int);

Task<void> many(Loop& loop, Workload work, int tasks, int rounds) {
  TaskGroup group(loop);
  for (int i = 0; i < tasks; ++i) group.spawn(work(loop, rounds));
  (void)co_await group.join();
}

struct Measured {
  double events_per_s;
  std::uint64_t hash;
};
Measured measure(Workload work, int tasks, int rounds) {
  VirtualDriver driver(42);
  Loop loop(driver);
  Stopwatch watch;
  loop.run(many(loop, work, tasks, rounds));
  return {static_cast<double>(loop.events()) / watch.seconds(), loop.trace_hash()};
}

// The minimum that any such engine must do: a heap of (time, callback). The ratio to it is more stable than seconds.
double plain_heap_events_per_s(int tasks, int rounds) {
  struct Item {
    std::int64_t time;
    std::uint64_t sequence;
    std::function<void()> call;
    bool operator<(const Item& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  Random random(42);
  std::priority_queue<Item> heap;
  std::uint64_t sequence = 0, events = 0;
  std::int64_t now = 0;
  std::vector<int> left(static_cast<std::size_t>(tasks), rounds);
  std::function<void(std::size_t)> tick = [&](std::size_t i) {
    if (left[i]-- == 0) return;
    heap.push({now + 1 + static_cast<std::int64_t>(random.below(1'000'000)), ++sequence,
               [&tick, i] { tick(i); }});
  };
  Stopwatch watch;
  for (std::size_t i = 0; i < left.size(); ++i) tick(i);
  while (!heap.empty()) {
    Item item = heap.top();
    heap.pop();
    now = item.time;
    item.call();
    ++events;
  }
  return static_cast<double>(events) / watch.seconds();
}

Task<void> sleep_once(Loop& loop) {
  co_await loop.sleep(1h);
}

Task<double> memory_of_sleepers(Loop& loop, int tasks) {
  double before = resident_mb();
  TaskGroup group(loop);
  for (int i = 0; i < tasks; ++i) group.spawn(sleep_once(loop));
  co_await loop.sleep(1s);
  double grown = resident_mb() - before;
  (void)co_await group.join();
  co_return grown;
}

}  // namespace

void bench_virtual_time() {
  heading("Virtual time");
  Measured naps = measure(sleeper, 2500, 800);
  double plain = plain_heap_events_per_s(2500, 800);
  at_least("2,500 tasks, 2 M sleeps", naps.events_per_s, 3e6,
           format_count(naps.events_per_s) + "/s", "3 M/s");
  note("  of a plain heap of callbacks in the same run",
       fmt::format("{:.2f} x", naps.events_per_s / plain));
  Measured races = measure(racer, 2500, 200);
  note("2,500 tasks, 500 k races of two sleeps", format_count(races.events_per_s) + "/s");
  Measured streams = measure(stream, 1000, 500);
  at_least("1,000 streams through channels with idle timeouts", streams.events_per_s, 3e6,
           format_count(streams.events_per_s) + "/s", "3 M/s");
  bool same = naps.hash == measure(sleeper, 2500, 800).hash &&
              streams.hash == measure(stream, 1000, 500).hash;
  at_least("same seed, same trace hash on repeat", same, 1, same ? "yes" : "no", "yes");
  note("trace hash of the sleeps and of the streams",
       fmt::format("{:016x} {:016x}", naps.hash, streams.hash));

  VirtualDriver driver(1);
  Loop loop(driver);
  double mb = loop.run(memory_of_sleepers(loop, 100'000));
  at_most("100,000 sleeping tasks", mb, 100, fmt::format("{:.1f} MB", mb), "100 MB");
}

}  // namespace specgen
