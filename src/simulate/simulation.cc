#include "simulate/simulation.h"

#include <fmt/core.h>

#include <utility>

namespace specgen {
namespace {

constexpr std::string_view kAnyFamily = "any";

// An unknown model gets the set "any"; a scenario that names a family must get that one.
Result<TriggerSet> trigger_set_of(const Scenario& scenario, const DataFolders& folders) {
  const std::string& wanted = scenario.run.triggers;
  TriggerSet set = TRY(find_trigger_set(folders.triggers, wanted));
  if (set.family == kAnyFamily && wanted != kAnyFamily) {
    return fail(ErrorCode::bad_scenario,
                fmt::format("{}: 'run.triggers': unknown family '{}'", scenario.name, wanted),
                "use the family of a file in triggers/, or 'any'");
  }
  return set;
}

}  // namespace

Simulation::Simulation(Scenario scenario, PromptStore prompts, std::unique_ptr<Triggers> triggers)
    : scenario_(std::move(scenario)),
      prompts_(std::move(prompts)),
      triggers_(std::move(triggers)) {}

Result<Simulation> Simulation::open(Scenario scenario, const DataFolders& folders) {
  PromptStore prompts = TRY(PromptStore::load(folders.prompts));
  std::unique_ptr<Triggers> triggers;
  TriggerSet set = TRY(trigger_set_of(scenario, folders));
  if (scenario.speculation.forks) triggers = TRY(Triggers::compile(std::move(set)));
  return Simulation(std::move(scenario), std::move(prompts), std::move(triggers));
}

Result<SimulationReport> Simulation::run(std::uint64_t seed, SimulationProgress on_progress) const {
  return simulate_run(
      scenario_, seed,
      {.prompts = prompts_, .triggers = triggers_.get(), .on_progress = std::move(on_progress)});
}

}  // namespace specgen
