#pragma once
// The figures of simulations: for `specgen simulate`, its JSON and comparisons. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "search/run_figures.h"
#include "simulate/simulated_run.h"

namespace specgen {

// Of one simulation, or of several together.
struct SimulationFigures {
  RunFigures run;          // device time counts while a controller was running
  double simulated_s = 0;  // including time without a controller
  TokenTotals tokens;
  double sum_of_log_speedups = 0;  // of the best kernel of each task that has one
  std::int64_t tasks_with_best = 0;
  std::uint64_t events = 0;
  std::uint64_t controllers = 0;  // started
  FaultCounts faults{};
  std::uint64_t violations = 0;

  double best_speedup() const;  // geometric mean; 0: none
};

SimulationFigures figures_of(const SimulationReport& report);
void add(SimulationFigures& all, const SimulationFigures& one);

// What is kept of a simulation after its end.
struct SeedResult {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::string ended;
  std::vector<std::string> violations;
  SimulationFigures figures;
};
SeedResult result_of(const SimulationReport& report);

// Schema specgen.simulation.
Json simulation_json(const Scenario& scenario, std::span<const SeedResult> results);
std::string simulation_text(const Scenario& scenario, std::span<const SeedResult> results);
// The command that repeats a seed.
std::string replay_line(const Scenario& scenario, std::uint64_t seed);

}  // namespace specgen
