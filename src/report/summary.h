#pragma once
// The outcome of a run in short: a table for people, and the object that `specgen optimize --json` and `specgen report
// --json` share. Pure functions of the run's data.

#include <filesystem>
#include <string>

#include "base/json.h"
#include "report/run_data.h"
#include "report/speculation_ledger.h"
#include "search/run_state.h"

namespace specgen {

// What the live display, the table, the page and --json show of a task.
struct TaskNumbers {
  std::int64_t iterations =
      0;  // begun; neither interrupted nor restarted ones, nor the user's own kernel
  std::int64_t feedback = 0;  // iterations with at least one new profile of a correct kernel
  std::int64_t profiled = 0;  // correct kernels that were profiled; repeats and shadows not counted
  std::int64_t forks = 0;
  std::int64_t harvested = 0;
  std::int64_t early_stops = 0;
};
TaskNumbers numbers_of(const RunState& state, std::uint32_t task);

// The file with the best kernel of a task so far: RUN/best/softmax.cc.
std::filesystem::path best_file(const std::filesystem::path& run, const RunTask& task,
                                bool is_python);

// Adds the members of the documents specgen.optimize and specgen.report: tasks, wall_s, tokens, dollars, utilization,
// run, state, why.
void add_summary(Json& object, const RunData& run, const SpeculationLedger& ledger);
Json to_json(const SpeculationLedger& ledger);

std::string summary_text(const RunData& run, const SpeculationLedger& ledger, bool colour);

}  // namespace specgen
