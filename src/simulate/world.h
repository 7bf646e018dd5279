#pragma once
// One seed's world: the real run, pool, scheduler, host clients and journal, in virtual time, between a simulated model
// and simulated hosts, under faults, from its beginning to its end. A controller that is killed is destroyed in the
// middle of whatever it did, and opened again on the same disk.
//
//   WorldReport report = live(scenario, seed, parts);
//
// The same scenario and seed take the same steps: report.trace_hash.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedule/evaluation_pool.h"
#include "search/prompt_book.h"
#include "search/run_state.h"
#include "simulate/faults.h"
#include "simulate/scenario.h"
#include "speculate/triggers.h"

namespace specgen {

// What worlds share. Outlives them.
struct WorldParts {
  Triggers* triggers = nullptr;  // null: no forks
  const PromptBook* prompts = nullptr;
  // Now and then, for people: simulated time and the state so far. May be empty.
  std::function<void(Duration, const RunState&)> on_progress = {};
};

struct WorldReport {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;  // of the loop
  Duration simulated{};
  std::string ended;  // why the run ended
  std::vector<std::string> violations;
  FaultCounts faults{};
  std::uint64_t resumptions = 0;

  RunState state;  // all that the run knew
  Duration device_time{};  // of all devices, while there was a controller
  Duration useful{};       // of it, for stages that counted
  Duration wasted{};
  PoolCounters pool{};  // of all lives together

  // From the state.
  std::int64_t iterations = 0;
  double feedback_per_100 = 0;
  std::int64_t profiled = 0;
  std::int64_t early_stops = 0;
  double utilisation = 0;
  double best_speedup = 0;  // geometric mean over the tasks, of those that have one
  Duration wait_mean{};     // from candidate to feedback
  Duration wait_p95{};
};

// An error: the scenario cannot be run at all (no such workflow).
Result<WorldReport> live(const Scenario& scenario, std::uint64_t seed, const WorldParts& parts);

}  // namespace specgen
