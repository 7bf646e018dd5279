#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
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

class SimulateCommand : public CliCommand {
 public:
  explicit SimulateCommand(CLI::App& app) {
    app.add_option("SCENARIO", scenario_,
                   "a file, or the name of one that ships: calm, faults, storm, speed, fleet")
        ->required();
    not_negative(app.add_option("--seed", seed_, "the first seed (default 1)")->type_name("N"));
    app.add_option("--seeds", seeds_, "how many, one after another (default 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--pictures", pictures_,
                   "a folder for time lines and utilisation of the last seed, as SVG")
        ->type_name("DIR");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.simulation)");
  }

  Result<ExitCode> run(const CommandContext&) override {
    Scenario scenario = TRY(load_scenario(TRY(find_scenario(scenario_))));
    scenario.name = scenario_;
    Simulation simulation =
        TRY(Simulation::open(std::move(scenario), {.triggers = {shipped_folder("triggers")},
                                                   .prompts = {shipped_folder("prompts")}}));
    std::vector<SeedResult> results = TRY(run_seeds(simulation));
    TRY(print_output(json_ ? pretty_json(simulation_json(simulation.scenario(), results))
                           : simulation_text(simulation.scenario(), results)));
    bool all_hold = std::ranges::all_of(
        results, [](const SeedResult& each) { return each.violations.empty(); });
    return all_hold ? ExitCode::done : ExitCode::failed;
  }

 private:
  Result<std::vector<SeedResult>> run_seeds(Simulation& simulation) {
    ProgressLine line;
    std::vector<SeedResult> results;
    for (std::uint64_t seed = seed_; seed < seed_ + seeds_; ++seed) {
      auto show = [&](Duration time, const RunState& state) {
        line.show(fmt::format("seed {}: {} simulated, {} iterations, {} candidates", seed,
                              format_duration(time), state.iterations.size(),
                              state.candidates.size()));
      };
      SimulationReport report = TRY(simulation.run(seed, show));
      results.push_back(result_of(report));
      bool is_last = seed + 1 == seed_ + seeds_;
      if (is_last && !pictures_.empty()) TRY(draw(report.state, pictures_));
    }
    return results;
  }

  std::string scenario_;
  std::uint64_t seed_ = 1;
  std::uint64_t seeds_ = 1;
  std::string pictures_;  // a folder; empty: none
  bool json_ = false;
};

}  // namespace

AddedCommand add_simulate_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "simulate",
      "run a scenario in virtual time: the real code with a synthetic model, devices and faults\n\n"
      "The same seed takes the same steps. Exit code 1 if an invariant was violated; the output "
      "then\n"
      "has the line that repeats it. docs/reference/simulation.md explains scenarios.");
  return {app, std::make_unique<SimulateCommand>(*app)};
}

}  // namespace specgen
