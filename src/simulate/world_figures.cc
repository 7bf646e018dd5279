#include "simulate/world_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/units.h"

namespace specgen {
namespace {

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

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

boost::json::object figures_json(const WorldFigures& figures) {
  return {{"simulated_s", figures.simulated_s},
          {"iterations", figures.iterations},
          {"feedback_per_100", figures.feedback_per_100()},
          {"candidates", figures.candidates},
          {"profiled", figures.profiled},
          {"early_stops", figures.early_stops},
          {"early_stop_share", figures.early_stop_share()},
          {"utilization", figures.utilization()},
          {"device_s_per_feedback",
           share(figures.useful_s, static_cast<double>(figures.with_feedback))},
          {"p95_feedback_wait_s", figures.feedback_wait_s(0.95)},
          {"best_speedup", figures.best_speedup()},
          {"tokens", tokens_json(figures.tokens)},
          {"events", figures.events},
          {"controllers", figures.lives},
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

WorldFigures all_of(std::span<const SeedResult> results) {
  WorldFigures all;
  for (const SeedResult& result : results) add(all, result.figures);
  std::ranges::sort(all.feedback_waits_s);
  return all;
}

}  // namespace

double WorldFigures::feedback_per_100() const {
  return 100 * share(static_cast<double>(with_feedback), static_cast<double>(iterations));
}
double WorldFigures::utilization() const {
  return share(useful_s, device_s);
}
double WorldFigures::early_stop_share() const {
  return share(static_cast<double>(early_stops), static_cast<double>(iterations));
}
double WorldFigures::best_speedup() const {
  if (tasks_with_best == 0) return 0;
  return std::exp(sum_of_log_speedups / static_cast<double>(tasks_with_best));
}
double WorldFigures::feedback_wait_s(double quantile) const {
  if (feedback_waits_s.empty()) return 0;
  auto last = static_cast<double>(feedback_waits_s.size() - 1);
  return feedback_waits_s[static_cast<std::size_t>(quantile * last)];
}

WorldFigures figures_of(const WorldReport& report) {
  const RunState& state = report.state;
  WorldFigures figures;
  figures.simulated_s = seconds(report.simulated);
  figures.tokens = state.tokens;
  figures.device_s = seconds(report.device_time);
  figures.events = report.events;
  figures.lives = report.lives;
  figures.faults = report.faults;
  figures.violations = report.violations.size();
  figures.candidates = static_cast<std::int64_t>(state.candidates.size());
  // An iteration that a kill interrupted is none.
  for (const auto& [id, iteration] : state.iterations) {
    if (!iteration.ended || iteration.ended->end == IterationEnd::interrupted) continue;
    ++figures.iterations;
    figures.with_feedback += iteration.feedback > 0;
    figures.early_stops += iteration.ended->end == IterationEnd::stopped;
  }
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.judged || candidate.judged->withdrawn || candidate.judged->repeated) continue;
    for (const StageSpan& span : candidate.spans()) {
      if (span.stage != Stage::compile) figures.useful_s += seconds(span.ended - span.started);
    }
    if (!candidate.judged->profiled) continue;
    ++figures.profiled;
    figures.feedback_waits_s.push_back(seconds(candidate.judged->at - candidate.found.at));
  }
  std::ranges::sort(figures.feedback_waits_s);
  for (const TaskState& task : state.tasks) {
    if (task.best_speedup <= 0) continue;
    ++figures.tasks_with_best;
    figures.sum_of_log_speedups += std::log(task.best_speedup);
  }
  return figures;
}

void add(WorldFigures& all, const WorldFigures& one) {
  all.simulated_s += one.simulated_s;
  all.iterations += one.iterations;
  all.with_feedback += one.with_feedback;
  all.candidates += one.candidates;
  all.profiled += one.profiled;
  all.early_stops += one.early_stops;
  all.tokens.main += one.tokens.main;
  all.tokens.forks += one.tokens.forks;
  all.tokens.other += one.tokens.other;
  all.tokens.saved += one.tokens.saved;
  all.tokens.maybe_charged += one.tokens.maybe_charged;
  all.device_s += one.device_s;
  all.useful_s += one.useful_s;
  all.feedback_waits_s.insert(all.feedback_waits_s.end(), one.feedback_waits_s.begin(),
                              one.feedback_waits_s.end());
  all.sum_of_log_speedups += one.sum_of_log_speedups;
  all.tasks_with_best += one.tasks_with_best;
  all.events += one.events;
  all.lives += one.lives;
  for (std::size_t i = 0; i < kFaults; ++i) all.faults[i] += one.faults[i];
  all.violations += one.violations;
}

SeedResult result_of(const WorldReport& report) {
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
  WorldFigures all = all_of(results);
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
  auto row = [](const std::string& name, const WorldFigures& figures, const std::string& hash) {
    const TokenTotals& tokens = figures.tokens;
    auto kills = figures.faults[static_cast<std::size_t>(Fault::controller_kill)];
    return fmt::format(
        "{:>10} {:>10} {:>10} {:>7.0f} % {:>8} {:>4.0f} % {:>4.0f} % {:>9} {:>6} {:>16}\n", name,
        format_duration(from_seconds(figures.simulated_s)), figures.iterations,
        figures.feedback_per_100(), figures.profiled, 100 * figures.early_stop_share(),
        100 * figures.utilization(),
        format_count(static_cast<double>(tokens.main + tokens.forks + tokens.other)), kills, hash);
  };
  for (const SeedResult& result : results) {
    text +=
        row(std::to_string(result.seed), result.figures, fmt::format("{:016x}", result.trace_hash));
  }
  WorldFigures all = all_of(results);
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
