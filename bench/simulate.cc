// The speed of the simulator: simulated hours per hour, and the size of the largest fleet.

#include <fmt/core.h>
#include <sys/resource.h>

#include <ctime>
#include <filesystem>

#include "figures.h"
#include "simulate/simulation.h"
#include "simulate/simulation_figures.h"

namespace specgen {
namespace {

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr double kKibPerGb = 1e6;
  return static_cast<double>(usage.ru_maxrss) / kKibPerGb;
}

Result<Simulation> open_simulation(const std::string& name) {
  std::filesystem::path source = SPECGEN_SOURCE_DIR;
  Scenario scenario = TRY(load_scenario(source / "scenarios" / name));
  return Simulation::open(std::move(scenario),
                          {.triggers = {source / "triggers"}, .prompts = {source / "prompts"}});
}

struct Lived {
  SimulationFigures figures;
  double cpu_s = 0;
  double wall_s = 0;
};

Result<Lived> live_seeds(const std::string& scenario, std::uint64_t seeds) {
  Simulation simulation = TRY(open_simulation(scenario));
  Lived total;
  Stopwatch watch;
  double begin = cpu_seconds();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    add(total.figures, figures_of(TRY(simulation.run(seed))));
  }
  total.cpu_s = cpu_seconds() - begin;
  total.wall_s = watch.seconds();
  return total;
}

}  // namespace

void bench_simulate() {
  heading("Simulator");
  auto speed = live_seeds("speed.toml", 5);
  if (!speed) {
    fmt::print("  {}\n", speed.error().text());
    return;
  }
  double ratio = speed->figures.simulated_s / speed->cpu_s;
  at_least("10 workflows, 10 devices: simulated hours per CPU hour", ratio, 30'000,
           fmt::format("{:.0f}", ratio), "30,000");
  note("  loop events per CPU second",
       fmt::format("{:.0f} k", static_cast<double>(speed->figures.events) / speed->cpu_s / 1e3));
  note("  CPU time of one iteration, its candidates and checks included",
       fmt::format("{:.0f} us",
                   1e6 * speed->cpu_s / static_cast<double>(speed->figures.run.iterations)));
  auto faults = live_seeds("faults.toml", 20);
  if (faults) {
    note("one simulation of faults.toml", fmt::format("{:.0f} ms", 1e3 * faults->cpu_s / 20));
    at_most("  violations in 20 of them", static_cast<double>(faults->figures.violations), 0,
            std::to_string(faults->figures.violations), "0");
  }
}

void bench_fleet() {
  heading("Fleet: 10,000 workflows, 1,000 devices, 20 iterations each");
  auto fleet = live_seeds("fleet.toml", 1);
  if (!fleet) {
    fmt::print("  {}\n", fleet.error().text());
    return;
  }
  at_most("wall time", fleet->wall_s, 600, fmt::format("{:.0f} s", fleet->wall_s), "600 s");
  note("  CPU time", fmt::format("{:.0f} s", fleet->cpu_s));
  at_most("peak memory", peak_gb(), 4, fmt::format("{:.2f} GB", peak_gb()), "4 GB");
  note("iterations, candidates",
       fmt::format("{}, {}", fleet->figures.run.iterations, fleet->figures.run.candidates));
  at_most("violations", static_cast<double>(fleet->figures.violations), 0,
          std::to_string(fleet->figures.violations), "0");
}

}  // namespace specgen
