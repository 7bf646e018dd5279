#include "simulate/simulation.h"

#include <utility>

namespace specgen {

Simulation::Simulation(Scenario scenario, PromptBook prompts, std::unique_ptr<Triggers> triggers)
    : scenario_(std::move(scenario)),
      prompts_(std::move(prompts)),
      triggers_(std::move(triggers)) {}

Result<Simulation> Simulation::open(Scenario scenario, const DataFolders& folders) {
  PromptBook prompts = TRY(PromptBook::load(folders.prompts));
  std::unique_ptr<Triggers> triggers;
  if (scenario.speculation.forks) {
    TriggerSet set = TRY(find_trigger_set(folders.triggers, scenario.run.triggers));
    triggers = TRY(Triggers::compile(std::move(set)));
  }
  return Simulation(std::move(scenario), std::move(prompts), std::move(triggers));
}

Result<WorldReport> Simulation::live(std::uint64_t seed, WorldProgress on_progress) const {
  return specgen::live(
      scenario_, seed,
      {.prompts = prompts_, .triggers = triggers_.get(), .on_progress = std::move(on_progress)});
}

}  // namespace specgen
