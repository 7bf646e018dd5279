#pragma once
// What a run came to, in the figures that systems are compared by. A fold of the run's state: the same for a run on
// real devices and for one in virtual time. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "search/run_state.h"

namespace specgen {

// The best so far, over all tasks (geometric mean; a task without a kernel counts 1), from this moment on.
struct BestSince {
  double time_s = 0;
  std::int64_t tokens = 0;  // spent by all of the run until then, of calls under way their share
  double speedup = 1;
};

// What is under way at a moment.
struct InFlight {
  double time_s = 0;
  std::int64_t reasoning = 0;  // main generations and advice
  std::int64_t forks = 0;
  std::int64_t validating = 0;
  std::int64_t profiling = 0;
};

// Of one task: in one run, or summed up over runs by its name.
struct TaskFigures {
  std::string name;
  std::int64_t runs = 0;           // that are summed up
  double wall_s = 0;               // from the beginning of the run to the last result of the task
  std::int64_t iterations = 0;     // as those of a run
  std::int64_t with_feedback = 0;  // of these

  double mean_wall_s() const;
  double feedback_per_100() const;
};

struct RunFigures {
  double wall_s = 0;
  std::int64_t iterations = 0;     // rounds, where several generations make up one
  std::int64_t with_feedback = 0;  // iterations with at least one new profile
  std::int64_t failed = 0;         // iterations without one
  std::int64_t early_stops = 0;
  std::int64_t candidates = 0;
  std::int64_t profiled = 0;  // new profiles
  std::int64_t tokens = 0;    // that a server had to compute: written, or read and not in its cache
  std::int64_t fork_tokens = 0;     // of these
  double device_s = 0;              // devices times wall time
  double useful_device_s = 0;       // of these, for unique candidates that were not withdrawn
  std::vector<double> shares;       // of each iteration's time that its model takes; sorted
  std::vector<double> stops;        // where early stops were, as a share of the whole trace; sorted
  std::vector<double> waits_s;      // from candidate to feedback; sorted
  std::vector<BestSince> best;      // in the order of time
  std::vector<InFlight> in_flight;  // now and then, of the first hours
  std::vector<TaskFigures> tasks;   // in the order of the run

  double feedback_per_100() const;
  double utilization() const;
  double device_s_per_feedback() const;
  double early_stop_share() const;
  double generation_share() const;  // the 75th percentile
  double wait_s(double quantile) const;
  double best_speedup() const;
  double best_at_time(double time_s) const;
  double best_at_tokens(std::int64_t tokens) const;
};

// `generations`: so many iterations of a task, one after another, make up one round.
RunFigures figures_of(const RunState& state, std::size_t devices, std::size_t generations = 1);
// Of several runs together. What has an order of time is that of the first.
void add(RunFigures& all, const RunFigures& one);

// For a file beside a run that is over: from_json(to_json(x)) is x.
Json to_json(const RunFigures& figures);
Result<RunFigures> run_figures_from(const Json& json);

double quantile_of(const std::vector<double>& sorted, double quantile);  // 0 if there are none

}  // namespace specgen
