#pragma once
// What came of a run, in figures: for `specgen optimize --json`, for the table at its end and for comparisons. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "search/run_state.h"

namespace specgen {

struct TaskSummary {
  std::string name;
  bool has_best = false;
  Speedup best = {};
  CandidateId best_candidate = {};
  std::int64_t iterations = 0;  // that ended
  std::int64_t feedback = 0;    // iterations that had at least one profile
  std::int64_t profiled = 0;    // candidates
  std::int64_t forks = 0;       // kernels that forks wrote
  std::int64_t harvested = 0;
  std::int64_t early_stops = 0;
  double feedback_per_100() const;
};

struct RunSummary {
  std::vector<TaskSummary> tasks = {};
  double wall_s = 0;
  TokenTotals tokens = {};
  double dollars = 0;
  double utilization =
      0;  // device time of unique candidates that were not withdrawn, over all device time
  std::string ended = {};
};
RunSummary summarise(const RunState& state);

std::string summary_table(const RunSummary& summary);  // for a person

}  // namespace specgen
