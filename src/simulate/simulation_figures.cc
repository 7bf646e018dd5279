#include "simulate/simulation_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/units.h"

namespace specgen {
namespace {

Json tokens_json(const TokenTotals& tokens) {
  return {{"main", tokens.main},
          {"forks", tokens.forks},
          {"other", tokens.other},
          {"saved", tokens.saved},
          {"maybe_charged", tokens.maybe_charged}};
}

Json faults_json(const FaultCounts& counts) {
  boost::json::object json;
  for (std::size_t i = 0; i < kFaults; ++i) json[to_string(static_cast<Fault>(i))] = counts[i];
  return json;
}

boost::json::object figures_json(const SimulationFigures& figures) {
  return {{"simulated_s", figures.simulated_s},
          {"iterations", figures.run.iterations},
          {"feedback_per_100", figures.run.feedback_per_100()},
          {"candidates", figures.run.candidates},
          {"profiled", figures.run.profiled},
          {"early_stops", figures.run.early_stops},
          {"early_stop_share", figures.run.early_stop_share()},
          {"utilization", figures.run.utilization()},
          {"device_s_per_feedback", figures.run.device_s_per_feedback()},
          {"p95_feedback_wait_s", figures.run.wait_s(0.95)},
          {"best_speedup", figures.best_speedup()},
          {"tokens", tokens_json(figures.tokens)},
          {"events", figures.events},
          {"controllers", figures.controllers},
          {"faults", faults_json(figures.faults)}};
}

std::string faults_text(const FaultCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Fault>(i)),
                        counts[i]);
  }
  return text.empty() ? "none" : text;
}

SimulationFigures all_of(std::span<const SeedResult> results) {
  SimulationFigures all;
  for (const SeedResult& result : results) add(all, result.figures);
  return all;
}

}  // namespace

double SimulationFigures::best_speedup() const {
  if (tasks_with_best == 0) return 0;
  return std::exp(sum_of_log_speedups / static_cast<double>(tasks_with_best));
}
SimulationFigures figures_of(const SimulationReport& report) {
  const RunState& state = report.state;
  SimulationFigures figures;
  figures.simulated_s = seconds(report.simulated);
  figures.tokens = state.tokens;
  figures.run = figures_of(state, state.run.devices.size());
  figures.run.device_s = seconds(report.device_time);
  figures.events = report.events;
  figures.controllers = report.controllers;
  figures.faults = report.faults;
  figures.violations = report.violations.size();
  for (const TaskState& task : state.tasks) {
    if (task.best_speedup <= 0) continue;
    ++figures.tasks_with_best;
    figures.sum_of_log_speedups += std::log(task.best_speedup);
  }
  return figures;
}

void add(SimulationFigures& all, const SimulationFigures& one) {
  add(all.run, one.run);
  all.simulated_s += one.simulated_s;
  all.tokens.main += one.tokens.main;
  all.tokens.forks += one.tokens.forks;
  all.tokens.other += one.tokens.other;
  all.tokens.saved += one.tokens.saved;
  all.tokens.maybe_charged += one.tokens.maybe_charged;
  all.sum_of_log_speedups += one.sum_of_log_speedups;
  all.tasks_with_best += one.tasks_with_best;
  all.events += one.events;
  all.controllers += one.controllers;
  for (std::size_t i = 0; i < kFaults; ++i) all.faults[i] += one.faults[i];
  all.violations += one.violations;
}

SeedResult result_of(const SimulationReport& report) {
  return {.seed = report.seed,
          .trace_hash = report.trace_hash,
          .ended = report.ended,
          .violations = report.violations,
          .figures = figures_of(report)};
}

std::string replay_line(const Scenario& scenario, std::uint64_t seed) {
  return fmt::format("specgen simulate {} --seed {}", scenario.name, seed);
}

Json simulation_json(const Scenario& scenario, std::span<const SeedResult> results) {
  boost::json::array seeds;
  for (const SeedResult& result : results) {
    boost::json::object seed{{"seed", result.seed},
                             {"trace_hash", fmt::format("{:016x}", result.trace_hash)},
                             {"ended", result.ended}};
    for (auto& [key, value] : figures_json(result.figures)) seed[key] = value;
    seed["violations"] = boost::json::array(result.violations.begin(), result.violations.end());
    seeds.push_back(std::move(seed));
  }
  SimulationFigures all = all_of(results);
  boost::json::object total = figures_json(all);
  total["violations"] = all.violations;
  return {{"schema", "specgen.simulation"},
          {"schema_version", 1},
          {"scenario", {{"file", scenario.name}, {"title", scenario.title}}},
          {"seeds", std::move(seeds)},
          {"total", std::move(total)}};
}

std::string simulation_text(const Scenario& scenario, std::span<const SeedResult> results) {
  std::string text = scenario.title + "\n\n";
  text += fmt::format("{:>10} {:>10} {:>10} {:>9} {:>8} {:>6} {:>6} {:>9} {:>6} {:>16}\n", "seed",
                      "simulated", "iterations", "feedback", "profiled", "early", "busy", "tokens",
                      "kills", "trace hash");
  auto row = [](const std::string& name, const SimulationFigures& figures,
                const std::string& hash) {
    const TokenTotals& tokens = figures.tokens;
    auto kills = figures.faults[static_cast<std::size_t>(Fault::controller_kill)];
    return fmt::format(
        "{:>10} {:>10} {:>10} {:>7.0f} % {:>8} {:>4.0f} % {:>4.0f} % {:>9} {:>6} {:>16}\n", name,
        format_duration(from_seconds(figures.simulated_s)), figures.run.iterations,
        figures.run.feedback_per_100(), figures.run.profiled, 100 * figures.run.early_stop_share(),
        100 * figures.run.utilization(),
        format_count(static_cast<double>(tokens.main + tokens.forks + tokens.other)), kills, hash);
  };
  for (const SeedResult& result : results) {
    text +=
        row(std::to_string(result.seed), result.figures, fmt::format("{:016x}", result.trace_hash));
  }
  SimulationFigures all = all_of(results);
  if (results.size() > 1) text += row("all", all, "");
  text += fmt::format("\nfaults: {}\n", faults_text(all.faults));
  text += fmt::format("violations: {}\n",
                      all.violations == 0 ? "none" : std::to_string(all.violations));
  for (const SeedResult& result : results) {
    for (const std::string& violation : result.violations) {
      text += fmt::format("  seed {} {}\n", result.seed, violation);
    }
    if (!result.violations.empty()) {
      text += fmt::format("  replay: {}\n", replay_line(scenario, result.seed));
    }
  }
  return text;
}

}  // namespace specgen
