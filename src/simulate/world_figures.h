#pragma once
// What came of worlds, in figures: for `specgen simulate`, its JSON and comparisons. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "simulate/world.h"

namespace specgen {

// Of one world, or of many together.
struct WorldFigures {
  double simulated_s = 0;
  std::int64_t iterations = 0;
  std::int64_t with_feedback = 0;  // iterations with at least one profile
  std::int64_t candidates = 0;
  std::int64_t profiled = 0;
  std::int64_t early_stops = 0;
  TokenTotals tokens;
  double device_s = 0;                   // of all devices, while there was a controller
  double useful_s = 0;                   // of these, for unique candidates that were not withdrawn
  std::vector<double> feedback_waits_s;  // from candidate to profile, sorted
  double sum_of_log_speedups = 0;        // of the best of each task that has one
  std::int64_t tasks_with_best = 0;
  std::uint64_t events = 0;
  std::uint64_t lives = 0;  // of controllers
  FaultCounts faults{};
  std::uint64_t violations = 0;

  double feedback_per_100() const;
  double utilization() const;
  double early_stop_share() const;
  double best_speedup() const;  // geometric mean; 0 if there is none
  double feedback_wait_s(double quantile) const;
};

WorldFigures figures_of(const WorldReport& report);
void add(WorldFigures& all, const WorldFigures& one);

// What is kept of a world when the next one begins.
struct SeedResult {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::string ended;
  std::vector<std::string> violations;
  WorldFigures figures;
};
SeedResult result_of(const WorldReport& report);

// Schema specgen.simulation.
Json simulation_json(const Scenario& scenario, std::span<const SeedResult> results);
std::string simulation_text(const Scenario& scenario, std::span<const SeedResult> results);
// The line that repeats a seed.
std::string replay_line(const Scenario& scenario, std::uint64_t seed);

}  // namespace specgen
