#include "cli/simulate.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/scenario_files.h"
#include "cli/tasks.h"
#include "cli/terminal.h"
#include "report/pictures.h"
#include "report/timeline.h"
#include "simulate/simulation.h"
#include "simulate/simulation_figures.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

Result<void> draw(const RunState& state, const fs::path& folder) {
  std::error_code trouble;
  fs::create_directories(folder, trouble);
  Timeline timeline = timeline_of(state);
  TRY(write_file_durably(folder / "in_flight.svg", in_flight_picture(timeline)));
  TRY(write_file_durably(folder / "devices.svg", device_picture(timeline)));
  return write_file_durably(folder / "utilisation.svg", utilisation_picture(timeline));
}

}  // namespace

Result<ExitCode> simulate(const SimulateScenario& command) {
  Scenario scenario = TRY(load_scenario(TRY(scenario_file(command.scenario))));
  scenario.name = command.scenario;
  Simulation simulation =
      TRY(Simulation::open(std::move(scenario), {.triggers = {shipped_folder("triggers")},
                                                 .prompts = {shipped_folder("prompts")}}));
  ProgressLine line;
  std::vector<SeedResult> results;
  for (std::uint64_t seed = command.seed; seed < command.seed + command.seeds; ++seed) {
    SimulationReport report = TRY(simulation.live(seed, [&](Duration time, const RunState& state) {
      line.show(fmt::format("seed {}: {} simulated, {} iterations, {} candidates", seed,
                            format_duration(time), state.iterations.size(),
                            state.candidates.size()));
    }));
    results.push_back(result_of(report));
    bool is_last = seed + 1 == command.seed + command.seeds;
    if (is_last && !command.pictures.empty()) TRY(draw(report.state, command.pictures));
  }
  line.show({});
  TRY(print_output(command.json ? pretty_json(simulation_json(simulation.scenario(), results))
                                : simulation_text(simulation.scenario(), results)));
  for (const SeedResult& result : results) {
    if (!result.violations.empty()) return ExitCode::failed;
  }
  return ExitCode::done;
}

}  // namespace specgen
