#pragma once
// One seed's simulation: the real run, pool, scheduler, host clients and journal, in virtual time, between a simulated model
// and simulated hosts, under faults, from its beginning to its end. A controller that is killed is destroyed in the
// middle of whatever it did, and opened again on the same disk.
//
//   SimulationReport report = live(scenario, seed, parts);
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

// Now and then, for people: simulated time and the state so far.
using SimulationProgress = std::function<void(Duration, const RunState&)>;

// What worlds share. Outlives them.
struct SimulationParts {
  const PromptBook& prompts;
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
  std::uint64_t lives = 0;  // of controllers

  RunState state;          // all that the run knew
  Duration device_time{};  // of all devices, while there was a controller
  PoolCounters pool{};     // of all lives together
};

// An error: the scenario cannot be run at all (no such workflow).
Result<SimulationReport> live(const Scenario& scenario, std::uint64_t seed,
                              const SimulationParts& parts);

}  // namespace specgen
