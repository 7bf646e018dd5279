#pragma once
// The outcome of a run in short: a table for people, and the object that `specgen optimize --json` and `specgen report
// --json` share. Pure functions of the run's state.

#include <filesystem>
#include <string>

#include "base/json.h"
#include "report/speculation_ledger.h"
#include "search/run_state.h"

namespace specgen {

// Where a run keeps the best kernel of a task so far: RUN/best/softmax.cc.
std::filesystem::path best_file(const std::filesystem::path& run, const RunTask& task,
                                bool is_python);

// Members of the documents specgen.optimize and specgen.report: tasks, wall_s, tokens, dollars, utilization, run,
// state, why.
void add_summary(Json& object, const RunState& state, const SpeculationLedger& ledger,
                 const std::filesystem::path& folder);
Json to_json(const SpeculationLedger& ledger);

std::string summary_text(const RunState& state, const SpeculationLedger& ledger,
                         const std::filesystem::path& folder, bool colour);

}  // namespace specgen
