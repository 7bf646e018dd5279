#include "search/run_summary.h"

#include <fmt/format.h>

namespace specgen {
namespace {

TaskSummary summarise_task(const RunState& state, std::size_t number) {
  const TaskState& task = state.tasks[number];
  TaskSummary summary{.name = state.run.tasks[number].name};
  if (task.best.value != 0) {
    summary.has_best = true;
    summary.best_candidate = task.best;
    summary.best = state.candidates.at(task.best).judged->speedup;
  }
  summary.profiled = static_cast<std::int64_t>(task.confirmed.size());
  for (IterationId id : task.iterations) {
    const IterationState& iteration = state.iterations.at(id);
    if (!iteration.ended || iteration.ended->end == IterationEnd::interrupted) continue;
    ++summary.iterations;
    summary.feedback += iteration.feedback > 0;
    summary.early_stops += iteration.ended->end == IterationEnd::stopped;
  }
  for (CandidateId id : task.candidates) {
    Origin origin = state.candidates.at(id).found.origin;
    summary.forks += origin == Origin::fork;
    summary.harvested += origin == Origin::harvest;
  }
  return summary;
}

double device_seconds(const RunState& state) {
  double busy = 0;
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.judged || candidate.judged->withdrawn || candidate.judged->repeated) continue;
    for (const StageSpan& span : candidate.judged->spans) {
      if (span.stage != Stage::compile) busy += seconds(span.ended - span.started);
    }
  }
  return busy;
}

}  // namespace

double TaskSummary::feedback_per_100() const {
  return iterations == 0 ? 0
                         : 100.0 * static_cast<double>(feedback) / static_cast<double>(iterations);
}

RunSummary summarise(const RunState& state) {
  RunSummary summary{.wall_s = seconds(state.last_at),
                     .tokens = state.tokens,
                     .dollars = state.dollars,
                     .ended = state.ended};
  for (std::size_t task = 0; task < state.tasks.size(); ++task) {
    summary.tasks.push_back(summarise_task(state, task));
  }
  double all = summary.wall_s * static_cast<double>(state.run.devices.size());
  if (all > 0) summary.utilization = device_seconds(state) / all;
  return summary;
}

std::string summary_table(const RunSummary& summary) {
  std::string text =
      fmt::format("{:<24} {:>22} {:>10} {:>9} {:>8} {:>6} {:>8} {:>6}\n", "task", "best speedup",
                  "iterations", "feedback", "profiled", "forks", "harvest", "early");
  for (const TaskSummary& task : summary.tasks) {
    std::string best = "none";
    if (task.has_best) {
      best = fmt::format("{:.3g}x ({:.3g} to {:.3g})", task.best.median, task.best.low,
                         task.best.high);
    }
    text += fmt::format("{:<24} {:>22} {:>10} {:>9} {:>8} {:>6} {:>8} {:>6}\n", task.name, best,
                        task.iterations, task.feedback, task.profiled, task.forks, task.harvested,
                        task.early_stops);
  }
  const TokenTotals& tokens = summary.tokens;
  text += fmt::format(
      "{} in all; tokens: {} main, {} forks, {} other, about {} saved by stopping early; "
      "devices busy {:.0f} % of the time\n",
      format_duration(from_seconds(summary.wall_s)), format_count(static_cast<double>(tokens.main)),
      format_count(static_cast<double>(tokens.forks)),
      format_count(static_cast<double>(tokens.other)),
      format_count(static_cast<double>(tokens.saved)), 100 * summary.utilization);
  if (summary.dollars > 0) text += fmt::format("${:.4f} spent\n", summary.dollars);
  return text;
}

}  // namespace specgen
