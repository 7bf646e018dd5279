// The journal on this disk: throughput when many tasks write at once, and its effect on the loop.

#include <fmt/format.h>

#include <filesystem>

#include "base/units.h"
#include "figures.h"
#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kWriters = 100;
constexpr Duration kWindow = 3s;

struct Load {
  int writers = 0;
  Duration pause{};   // between two entries of a writer
  int artifacts = 0;  // of 8 MiB, one every 200 ms
};

struct Measured {
  std::uint64_t recorded = 0;
  double seconds = 0;
  std::uint64_t commits = 0;
  double max_append_ms = 0;
  std::vector<double> late_ms;  // of a task that should run every 200 us
};

Task<void> write(Loop& loop, Journal& journal, Duration pause, Measured& measured) {
  const std::string body(300, 'x');
  while (true) {
    Stopwatch watch;
    auto sequence = journal.append("verdict", body);
    measured.max_append_ms = std::max(measured.max_append_ms, 1e3 * watch.seconds());
    if (!sequence || !co_await journal.durable(*sequence)) co_return;
    ++measured.recorded;
    if (pause > 0s) co_await loop.sleep(pause);
  }
}

Task<void> store(Loop& loop, Storage& storage, std::vector<std::string> artifacts) {
  for (std::string& artifact : artifacts) {
    (void)co_await storage.put(std::move(artifact));
    co_await loop.sleep(200ms);
  }
}

Task<void> heartbeat(Loop& loop, Measured& measured) {
  while (true) {
    Time due = loop.now() + 200us;
    co_await loop.sleep_until(due);
    measured.late_ms.push_back(1e3 * seconds(loop.now() - due));
  }
}

Task<Result<Measured>> measure(Loop& loop, RealDriver& driver, fs::path folder, Load load) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto opened = CO_TRY(co_await Journal::open(loop, *storage));
  std::vector<std::string> artifacts;
  for (int i = 0; i < load.artifacts; ++i)
    artifacts.emplace_back(8 << 20, static_cast<char>('a' + i));
  Measured measured;
  TaskGroup heart(loop), group(loop);
  heart.spawn(heartbeat(loop, measured));
  for (int i = 0; i < load.writers; ++i)
    group.spawn(write(loop, *opened.journal, load.pause, measured));
  group.spawn(store(loop, *storage, std::move(artifacts)));
  Stopwatch watch;
  co_await loop.sleep(kWindow);
  measured.seconds = watch.seconds();
  measured.commits = opened.journal->commits();
  group.cancel();
  CO_TRY(co_await opened.journal->flush());
  CO_TRY(co_await storage->close());  // the lateness is still measured meanwhile
  co_return measured;
}

}  // namespace

void bench_journal() {
  heading("Journal: 100 tasks, each awaiting the durability of its entries of 300 bytes");
  fs::path folder = fs::current_path() / "build" / "bench-journal";
  RealDriver driver(1);
  Loop loop(driver);
  auto idle = loop.run(measure(loop, driver, folder / "idle", {}));
  auto full = loop.run(measure(loop, driver, folder / "full", {.writers = kWriters}));
  Load steady_load{.writers = kWriters, .pause = 15ms, .artifacts = 14};
  auto steady = loop.run(measure(loop, driver, folder / "steady", steady_load));
  fs::remove_all(folder);
  for (const auto* result : {&idle, &full, &steady}) {
    if (!*result) return note("cannot be measured here", result->error().summary());
  }

  double rate = static_cast<double>(full->recorded) / full->seconds;
  at_least("events made durable, at full speed", rate, 5000, format_count(rate) + "/s", "5 k/s");
  note("  commits (each an fsync)",
       format_count(static_cast<double>(full->commits) / full->seconds) + "/s");
  double steady_rate = static_cast<double>(steady->recorded) / steady->seconds;
  at_least("steady load, with artifacts of 8 MiB and a close", steady_rate, 5000,
           format_count(steady_rate) + "/s", "5 k/s");
  at_most("  longest append() on the loop", steady->max_append_ms, 1,
          fmt::format("{:.3f} ms", steady->max_append_ms), "1 ms");
  double late = quantile(steady->late_ms, 0.99), quiet = quantile(idle->late_ms, 0.99);
  at_most("  loop late by, p99, more than with the journal idle", late - quiet, 1,
          fmt::format("{:+.3f} ms", late - quiet), "1 ms");
  // Beyond that the machine dominates: three threads share its cores.
  note("  p99.9, idle / steady", fmt::format("{:.2f} / {:.2f} ms", quantile(idle->late_ms, 0.999),
                                             quantile(steady->late_ms, 0.999)));
}

}  // namespace specgen
