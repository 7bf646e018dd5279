// Simulations with faults, one per seed: no invariant may be violated, every kind of fault of the scenario must
// occur, and some seeds run twice and must take the same steps.
//
//   simulate_seeds SCENARIO --from 1 --seeds 100      many seeds
//   simulate_seeds --regressions FILE                 seeds that failed before: lines of "scenario seed"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "simulate/simulation.h"
#include "simulate/simulation_figures.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTwiceEvery = 10;  // seeds

const fs::path kSource = SPECGEN_SOURCE_DIR;

int give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.text());
  return static_cast<int>(error.exit_code());
}

Result<Simulation> open_simulation(const std::string& scenario) {
  Scenario loaded = TRY(load_scenario(kSource / "scenarios" / scenario));
  loaded.name = "scenarios/" + scenario;
  return Simulation::open(std::move(loaded),
                          {.triggers = {kSource / "triggers"}, .prompts = {kSource / "prompts"}});
}

// Returns whether there was no violation.
Result<bool> live_one(const Simulation& simulation, std::uint64_t seed, bool twice,
                      SimulationFigures& all) {
  SimulationReport report = TRY(simulation.run(seed));
  add(all, figures_of(report));
  bool good = report.violations.empty();
  for (const std::string& violation : report.violations) {
    fmt::print(stderr, "seed {}: {}\n", seed, violation);
  }
  if (twice) {
    SimulationReport again = TRY(simulation.run(seed));
    if (again.trace_hash != report.trace_hash) {
      fmt::print(stderr, "seed {}: it took other steps the second time\n", seed);
      good = false;
    }
  }
  if (!good) fmt::print(stderr, "replay: {}\n", replay_line(simulation.scenario(), seed));
  return good;
}

// Every kind of fault of the scenario must have occurred.
bool all_faults_came(const Scenario& scenario, const SimulationFigures& all) {
  bool good = true;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (scenario.faults.rates[i] == 0 || all.faults[i] > 0) continue;
    fmt::print(stderr, "{} never came\n", to_string(static_cast<Fault>(i)));
    good = false;
  }
  return good;
}

int run_seeds(const std::string& scenario, std::uint64_t from, std::uint64_t seeds) {
  auto simulation = open_simulation(scenario);
  if (!simulation) return give_up(simulation.error());
  SimulationFigures all;
  std::uint64_t bad = 0;
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    auto good = live_one(*simulation, seed, seed % kTwiceEvery == 0, all);
    if (!good) return give_up(good.error());
    bad += !*good;
  }
  fmt::print("{}: {} seeds, {} simulated hours, {} controllers, {} iterations, {} violations\n",
             scenario, seeds, static_cast<std::int64_t>(all.simulated_s / 3600), all.controllers,
             all.run.iterations, all.violations);
  bool came = seeds < 20 || all_faults_came(simulation->scenario(), all);
  return bad == 0 && came ? 0 : 1;
}

int live_regressions(const std::string& file) {
  auto text = read_file(file, MiB(1));
  if (!text) return give_up(text.error());
  int failed = 0;
  for (std::string_view line : split(*text, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::size_t gap = line.find(' ');
    if (gap == std::string_view::npos) {
      fmt::print(stderr, "{}: '{}' is no scenario and seed\n", file, line);
      return 2;
    }
    std::string seed(trim(line.substr(gap)));
    failed += run_seeds(std::string(line.substr(0, gap)), std::strtoull(seed.c_str(), nullptr, 10),
                        1) != 0;
  }
  return failed == 0 ? 0 : 1;
}

std::string value_of(std::span<char*> arguments, std::string_view flag, std::string fallback) {
  auto found = std::ranges::find(arguments, flag,
                                 [](const char* argument) { return std::string_view(argument); });
  return found == arguments.end() || found + 1 == arguments.end() ? fallback
                                                                  : std::string(*(found + 1));
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  using namespace specgen;
  std::span<char*> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  std::string regressions = value_of(arguments, "--regressions", {});
  if (!regressions.empty()) return live_regressions(regressions);
  if (arguments.empty()) {
    fmt::print(stderr, "usage: simulate_seeds SCENARIO [--from N] [--seeds N]\n");
    return 2;
  }
  return run_seeds(arguments[0],
                   std::strtoull(value_of(arguments, "--from", "1").c_str(), nullptr, 10),
                   std::strtoull(value_of(arguments, "--seeds", "1").c_str(), nullptr, 10));
}
