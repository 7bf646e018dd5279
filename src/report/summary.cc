#include "report/summary.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// What was interrupted is no iteration.
std::int64_t counted(const TaskState& task) {
  return static_cast<std::int64_t>(task.iterations.size()) - task.uncounted;
}

struct TaskCounts {
  std::int64_t feedback = 0;  // iterations that had at least one
  std::int64_t forks = 0;
  std::int64_t harvested = 0;
  std::int64_t early_stops = 0;
};

TaskCounts counts_of(const RunState& state, const TaskState& task) {
  TaskCounts counts;
  for (IterationId id : task.iterations) {
    const IterationState& iteration = state.iterations.at(id);
    counts.feedback += iteration.feedback > 0;
    counts.forks += iteration.forks;
    counts.harvested += iteration.harvested;
    counts.early_stops += iteration.ended && iteration.ended->end == IterationEnd::stopped;
  }
  return counts;
}

Json existing_file(const fs::path& run, const RunTask& task) {
  std::error_code trouble;
  for (bool is_python : {false, true}) {
    fs::path file = best_file(run, task, is_python);
    if (fs::is_regular_file(file, trouble)) return Json(file.string());
  }
  return nullptr;
}

std::string count_text(std::int64_t count) {
  return format_count(static_cast<double>(count));
}

std::string saved_text(const SpeculationLedger& ledger) {
  std::string how = ledger.shadows == 0 ? "estimated"
                                        : fmt::format("{} of {} early stops measured by shadows",
                                                      ledger.shadows, ledger.early_stops());
  return fmt::format("{} tokens and {} of thinking saved ({})", count_text(ledger.tokens_saved()),
                     format_duration(ledger.saved()), how);
}

}  // namespace

fs::path best_file(const fs::path& run, const RunTask& task, bool is_python) {
  std::string name;
  for (char c : task.name) {
    bool plain = is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  return run / "best" / (name + (is_python ? ".py" : task.backend == "cuda" ? ".cu" : ".cc"));
}

void add_summary(Json& object, const RunState& state, const SpeculationLedger& ledger,
                 const fs::path& folder) {
  boost::json::array tasks;
  for (std::size_t i = 0; i < state.tasks.size(); ++i) {
    const TaskState& task = state.tasks[i];
    Json best(nullptr);
    if (task.best.value != 0) {
      const CandidateState& candidate = state.candidates.at(task.best);
      boost::json::object tunables;
      for (const auto& [name, value] : candidate.tunables()) tunables[name] = value;
      best = {{"speedup", to_json(candidate.speedup())},
              {"candidate", to_string(task.best)},
              {"tunables", std::move(tunables)},
              {"tuned", candidate.tuned.has_value()},
              {"file", existing_file(folder, state.run.tasks[i])}};
    }
    TaskCounts counts = counts_of(state, task);
    tasks.push_back({{"name", state.run.tasks[i].name},
                     {"best", std::move(best)},
                     {"iterations", counted(task)},
                     {"feedback", counts.feedback},
                     {"profiled", task.confirmed.size()},
                     {"forks", counts.forks},
                     {"harvested", counts.harvested},
                     {"early_stops", counts.early_stops}});
  }
  boost::json::object& into = object.as_object();
  into["run"] = folder.string();
  into["state"] = state.ended.empty() ? "interrupted" : "ended";
  into["why"] = state.ended;
  into["tasks"] = std::move(tasks);
  into["wall_s"] = seconds(ledger.wall);
  into["tokens"] = {{"main", state.tokens.main},
                    {"forks", state.tokens.forks},
                    {"other", state.tokens.other},
                    {"saved", ledger.tokens_saved()},
                    {"maybe_charged", state.tokens.maybe_charged}};
  into["dollars"] = state.dollars;
  into["utilization"] = ledger.utilisation();
}

Json to_json(const SpeculationLedger& ledger) {
  boost::json::object origins;
  for (Origin origin : {Origin::main, Origin::fork, Origin::harvest}) {
    const OriginCount& count = ledger.origins[static_cast<std::size_t>(origin)];
    origins[to_string(origin)] = {{"found", count.found},
                                  {"ok", count.ok},
                                  {"profiled", count.profiled},
                                  {"withdrawn", count.withdrawn},
                                  {"repeated", count.repeated},
                                  {"best", count.best},
                                  {"device_s", seconds(count.device_time)}};
  }
  boost::json::object refused;
  for (std::size_t i = 0; i < kRefusals; ++i) {
    refused[to_string(static_cast<Refusal>(i))] = static_cast<std::int64_t>(ledger.refusals[i]);
  }
  return {{"iterations", ledger.iterations},
          {"ended_early",
           {{"harvest", ledger.stopped_by_harvest},
            {"fork", ledger.stopped_by_fork},
            {"share", ledger.early_share()}}},
          {"answered", ledger.answered},
          {"no_kernel", ledger.no_kernel},
          {"failed", ledger.failed},
          {"given_up", ledger.given_up},
          {"interrupted", ledger.interrupted},
          {"saved",
           {{"tokens_estimated", ledger.tokens.saved},
            {"seconds_estimated", seconds(ledger.time_saved)},
            {"tokens", ledger.tokens_saved()},
            {"seconds", seconds(ledger.saved())}}},
          {"shadows",
           {{"count", ledger.shadows},
            {"tokens", ledger.shadow_tokens},
            {"tokens_estimated", ledger.shadow_estimate},
            {"seconds", seconds(ledger.shadow_time)},
            {"forgone_better", ledger.forgone_better}}},
          {"overhead",
           {{"fork_tokens", ledger.tokens.forks},
            {"device_s", seconds(ledger.speculative_device_time())}}},
          {"triggers_refused", std::move(refused)},
          {"net_tokens", ledger.net_tokens()},
          {"feedback_per_100", ledger.feedback_per_100()},
          {"profiled", ledger.profiled},
          {"devices", ledger.devices},
          {"origins", std::move(origins)}};
}

std::string summary_text(const RunState& state, const SpeculationLedger& ledger,
                         const fs::path& folder, bool colour) {
  std::size_t width = 4;
  for (const RunTask& task : state.run.tasks) width = std::max(width, task.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:<16}  {:>10}  {:>8}  {:>8}  {:>6}  {:>9}  {:>13}\n", "task",
                  width, "speedup", "95 % interval", "iterations", "feedback", "profiled", "forks",
                  "harvested", "stopped early");
  for (std::size_t i = 0; i < state.tasks.size(); ++i) {
    const TaskState& task = state.tasks[i];
    TaskCounts counts = counts_of(state, task);
    std::string speedup = fmt::format("{:>8}", "none"), interval;
    if (task.best.value != 0) {
      const Speedup& best = state.candidates.at(task.best).speedup();
      speedup = fmt::format("{:>8}", fmt::format("{:.3g}x", best.median));
      interval = fmt::format("{:.3g} to {:.3g}", best.low, best.high);
    }
    if (colour)
      speedup = fmt::format("\x1b[1;{}m{}\x1b[0m", task.best_speedup > 1 ? 32 : 33, speedup);
    text += fmt::format("{:<{}}  {}  {:<16}  {:>10}  {:>8}  {:>8}  {:>6}  {:>9}  {:>13}\n",
                        state.run.tasks[i].name, width, speedup, interval, counted(task),
                        counts.feedback, task.confirmed.size(), counts.forks, counts.harvested,
                        counts.early_stops);
  }
  text += fmt::format(
      "\n{} in {}: {}\n", folder.string(), format_duration(ledger.wall),
      state.ended.empty() ? "interrupted; --resume goes on" : "ended by " + state.ended);
  text += fmt::format("tokens: {} main, {} forks", count_text(state.tokens.main),
                      count_text(state.tokens.forks));
  if (state.tokens.other > 0) text += fmt::format(", {} other", count_text(state.tokens.other));
  if (state.dollars > 0) text += fmt::format("; ${:.2f}", state.dollars);
  if (state.tokens.maybe_charged > 0) {
    text += fmt::format("; up to {} more for calls whose end was never told",
                        count_text(state.tokens.maybe_charged));
  }
  text += fmt::format("\ndevices: {}, {:.0f} % busy with what counted\n", ledger.devices,
                      100 * ledger.utilisation());
  if (state.run.speculate) {
    text += fmt::format(
        "speculation: {:.0f} % of {} iterations ended early ({} by harvest, {} by forks), {} given "
        "up; {}\n",
        100 * ledger.early_share(), ledger.iterations, ledger.stopped_by_harvest,
        ledger.stopped_by_fork, ledger.given_up, saved_text(ledger));
    text += fmt::format(
        "             paid {} tokens for forks and {} of device time; net {}{} tokens\n",
        count_text(ledger.tokens.forks), format_duration(ledger.speculative_device_time()),
        ledger.net_tokens() < 0 ? "-" : "+", count_text(std::abs(ledger.net_tokens())));
  }
  return text;
}

}  // namespace specgen
