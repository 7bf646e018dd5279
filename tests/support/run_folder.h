#pragma once
// For tests of commands that show runs: a fake run as a folder on a real disk.

#include <filesystem>

#include "journal/journal.h"
#include "journal/sqlite_storage.h"
#include "report/fake_run.h"
#include "runtime/real_driver.h"

namespace specgen {

inline Task<Result<void>> write_run(Loop& loop, RealDriver& driver, std::filesystem::path folder,
                                    const FakeRun& run) {
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, std::move(folder)));
  for (const auto& [name, bytes] : run.artifacts()) CO_TRY(co_await storage->put(bytes));
  {
    auto opened = CO_TRY(co_await Journal::open(loop, *storage));
    for (const Entry& entry : run.entries()) CO_TRY(opened.journal->append(entry.type, entry.body));
    CO_TRY(co_await opened.journal->flush());
  }
  co_return co_await storage->close();
}

inline Result<void> write_run_folder(const std::filesystem::path& folder, const FakeRun& run) {
  RealDriver driver(1);
  Loop loop(driver);
  return loop.run(write_run(loop, driver, folder, run));
}

// One task, one winner with this source.
inline FakeRun run_won_by(RunTask task, std::string source, double speedup = 1.0,
                          std::string evaluation = {}) {
  FakeRun run({std::move(task)});
  IterationId id = run.iteration();
  run.call(id, "main", 1200, 0, 12);
  CandidateId parent = run.candidate(id, Origin::harvest, "// a first attempt\n" + source, 4);
  run.judge(parent, {.verdict = Verdict::wrong,
                     .evidence = "y[3] is 2, expected 1",
                     .at = std::chrono::seconds(7)});
  CandidateId winner = run.candidate(id, Origin::fork, std::move(source), 8, parent, "decision");
  run.confirm(winner, speedup, 14, 2, std::move(evaluation));
  run.end(id, IterationEnd::stopped, winner, 900);
  run.add(run_ended_entry("iterations"));
  return run;
}

}  // namespace specgen
