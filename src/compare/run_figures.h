#pragma once
// What a run came to, in the figures that systems are compared by. A fold of the run's state: the same for a run on
// real devices and for one in virtual time.

#include <cstdint>
#include <span>
#include <vector>

#include "search/run_state.h"

namespace specgen {

// The best so far, over all tasks (geometric mean; a task without a kernel counts 1), from this moment on.
struct BestSince {
  double time_s = 0;
  std::int64_t tokens = 0;  // spent by all of the run until then
  double speedup = 1;
};

struct RunFigures {
  double wall_s = 0;
  std::int64_t iterations = 0;
  std::int64_t with_feedback = 0;  // iterations with at least one new profile
  std::int64_t profiled = 0;       // new profiles
  std::int64_t early_stops = 0;
  std::int64_t tokens = 0;      // main, forks and other
  double device_s = 0;          // devices times wall time
  double useful_device_s = 0;   // of these, for unique candidates that were not withdrawn
  double generation_share = 0;  // of an iteration: the 75th percentile of the time its model takes
  std::vector<double> waits_s;  // from candidate to feedback, sorted
  std::vector<BestSince> best;  // in the order of time

  double feedback_per_100() const;
  double utilization() const;
  double device_s_per_feedback() const;
  double early_stop_share() const;
  double wait_s(double quantile) const;
  double best_at_time(double time_s) const;
  double best_at_tokens(std::int64_t tokens) const;
};

RunFigures figures_of(const RunState& state, std::size_t devices);

}  // namespace specgen
