#pragma once
// A scenario with everything its simulations need, loaded once: the trigger set and the prompts.
//
//   auto simulation = TRY(Simulation::open(scenario, folders));
//   SimulationReport report = TRY(simulation.run(seed));

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "search/prompt_store.h"
#include "simulate/scenario.h"
#include "simulate/simulated_run.h"
#include "speculate/triggers.h"

namespace specgen {

struct DataFolders {  // the user's own before the shipped ones
  std::vector<std::filesystem::path> triggers;
  std::vector<std::filesystem::path> prompts;
};

class Simulation {
 public:
  static Result<Simulation> open(Scenario scenario, const DataFolders& folders);

  const Scenario& scenario() const { return scenario_; }
  Result<SimulationReport> run(std::uint64_t seed, SimulationProgress on_progress = {}) const;

 private:
  Simulation(Scenario scenario, PromptStore prompts, std::unique_ptr<Triggers> triggers);

  Scenario scenario_;
  PromptStore prompts_;
  std::unique_ptr<Triggers> triggers_;  // null: no forks
};

}  // namespace specgen
