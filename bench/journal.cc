// The journal on this disk: throughput when many tasks record at once, and whether the loop feels
// it.

#include <fmt/format.h>

#include <filesystem>

#include "base/units.h"
#include "figures.h"
#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "runtime/race.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kWriters = 100;
constexpr Duration kWindow = 3s;

Task<void> writer(Journal& journal, std::uint64_t& recorded, double& longest_append_s) {
  const std::string body(300, 'x');
  while (true) {
    Stopwatch watch;
    auto sequence = journal.append("verdict", body);
    longest_append_s = std::max(longest_append_s, watch.seconds());
    if (!sequence || !co_await journal.durable(*sequence)) co_return;
    ++recorded;
  }
}

// How late the loop is for a task that wants to run every 200 us.
Task<void> heartbeat(Loop& loop, std::vector<double>& late_ms) {
  while (true) {
    Time due = loop.now() + 200us;
    co_await loop.sleep_until(due);
    late_ms.push_back(1e3 * seconds(loop.now() - due));
  }
}

struct Measured {
  double events_per_s = 0;
  double commits_per_s = 0;
  double longest_append_ms = 0;
  std::vector<double> late_ms;
};

Task<Result<Measured>> measure(Loop& loop, RealDriver& driver, fs::path folder, int writers) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto opened = CO_TRY(co_await Journal::open(loop, *storage));
  Measured measured;
  std::uint64_t recorded = 0;
  double longest_append_s = 0;
  TaskGroup group(loop);
  group.spawn(heartbeat(loop, measured.late_ms));
  for (int i = 0; i < writers; ++i)
    group.spawn(writer(*opened.journal, recorded, longest_append_s));
  Stopwatch watch;
  co_await loop.sleep(kWindow);
  measured.events_per_s = static_cast<double>(recorded) / watch.seconds();
  measured.commits_per_s = static_cast<double>(opened.journal->commits()) / watch.seconds();
  measured.longest_append_ms = longest_append_s * 1e3;
  co_return measured;
}

}  // namespace

void bench_journal() {
  heading("Journal: 100 tasks, each awaiting the durability of its entries of 300 bytes");
  fs::path folder = fs::current_path() / "build" / "bench-journal";
  RealDriver driver(1);
  Loop loop(driver);
  auto idle = loop.run(measure(loop, driver, folder / "idle", 0));
  auto busy = loop.run(measure(loop, driver, folder / "busy", kWriters));
  fs::remove_all(folder);
  if (!idle || !busy) {
    note("cannot be measured here", (idle ? busy : idle).error().summary());
    return;
  }
  at_least("events made durable", busy->events_per_s, 5000, format_count(busy->events_per_s) + "/s",
           "5 k/s");
  note("commits (each an fsync)", format_count(busy->commits_per_s) + "/s");
  at_most("longest append() on the loop", busy->longest_append_ms, 1,
          fmt::format("{:.3f} ms", busy->longest_append_ms), "1 ms");
  double p999 = quantile(busy->late_ms, 0.999), quiet = quantile(idle->late_ms, 0.999);
  at_most("loop late by, p99.9, more than with the journal idle", p999 - quiet, 1,
          fmt::format("{:+.3f} ms", p999 - quiet), "1 ms");
  note("  longest, journal idle / busy (includes the system's own delays)",
       fmt::format("{:.2f} / {:.2f} ms", quantile(idle->late_ms, 1), quantile(busy->late_ms, 1)));
}

}  // namespace specgen
