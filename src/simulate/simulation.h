#pragma once
// A scenario with all that its worlds need, loaded once: the trigger set, the prompts.
//
//   auto simulation = TRY(Simulation::open(scenario, folders));
//   SimulationReport report = TRY(simulation.live(seed));

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "search/prompt_book.h"
#include "simulate/scenario.h"
#include "simulate/simulated_run.h"
#include "speculate/triggers.h"

namespace specgen {

struct DataFolders {  // that ship, the user's own before them
  std::vector<std::filesystem::path> triggers;
  std::vector<std::filesystem::path> prompts;
};

class Simulation {
 public:
  static Result<Simulation> open(Scenario scenario, const DataFolders& folders);

  const Scenario& scenario() const { return scenario_; }
  Result<SimulationReport> live(std::uint64_t seed, SimulationProgress on_progress = {}) const;

 private:
  Simulation(Scenario scenario, PromptBook prompts, std::unique_ptr<Triggers> triggers);

  Scenario scenario_;
  PromptBook prompts_;
  std::unique_ptr<Triggers> triggers_;  // null: no forks
};

}  // namespace specgen
