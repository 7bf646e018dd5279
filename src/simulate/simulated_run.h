#pragma once
// Simulates one seed: the real run, pool, scheduler, host clients and journal in virtual time, with a virtual model,
// virtual hosts and faults, from start to end. A controller that is killed is destroyed at an arbitrary point and
// restarted on the same disk.
//
//   SimulationReport report = simulate_run(scenario, seed, parts);
//
// The same scenario and seed take the same steps: report.trace_hash.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedule/evaluation_pool.h"
#include "search/prompt_store.h"
#include "search/run_state.h"
#include "simulate/faults.h"
#include "simulate/scenario.h"
#include "speculate/triggers.h"

namespace specgen {

// Called periodically with the simulated time and the current state.
using SimulationProgress = std::function<void(Duration, const RunState&)>;

// Shared by all simulations; must outlive them.
struct SimulationParts {
  const PromptStore& prompts;
  Triggers* triggers = nullptr;  // null: no forks
  SimulationProgress on_progress = {};
};

struct SimulationReport {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;  // of the loop
  Duration simulated{};
  std::string ended;  // why the run ended
  std::vector<std::string> violations;
  FaultCounts faults{};
  std::uint64_t controllers = 0;  // started

  RunState state;          // at the end of the run
  Duration device_time{};  // of all devices, while a controller was running
  PoolCounters pool{};     // of all controllers together
};

// An error: the scenario cannot be run (unknown workflow).
Result<SimulationReport> simulate_run(const Scenario& scenario, std::uint64_t seed,
                                      const SimulationParts& parts);

}  // namespace specgen
