#include "report/summary.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "report/no_result.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

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

std::string status_text(const RunData& run) {
  switch (run.status()) {
    case RunStatus::running:
      return "still running";
    case RunStatus::interrupted:
      return "interrupted; continue with --resume";
    case RunStatus::ended:
      break;
  }
  return "ended by " + run.state.ended;
}

std::string saved_text(const SpeculationLedger& ledger) {
  std::string how = ledger.shadows == 0 ? "estimated"
                                        : fmt::format("{} of {} early stops measured by shadows",
                                                      ledger.shadows, ledger.early_stops());
  return fmt::format("{} tokens and {} of reasoning saved ({})", count_text(ledger.tokens_saved()),
                     format_duration(ledger.saved()), how);
}

}  // namespace

TaskNumbers numbers_of(const RunState& state, std::uint32_t task) {
  const TaskState& its = state.tasks[task];
  TaskNumbers numbers{
      .iterations = static_cast<std::int64_t>(its.iterations.size()) - its.uncounted,
      .profiled = static_cast<std::int64_t>(its.confirmed.size())};
  for (IterationId id : its.iterations) {
    const IterationState& iteration = state.iterations.at(id);
    numbers.feedback += iteration.feedback > 0;
    numbers.forks += iteration.forks;
    numbers.harvested += iteration.harvested;
    numbers.early_stops += iteration.ended && iteration.ended->end == IterationEnd::stopped;
  }
  return numbers;
}

fs::path best_file(const fs::path& run, const RunTask& task, bool is_python) {
  std::string name;
  for (char c : task.name) {
    bool plain = is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  return run / "best" / (name + (is_python ? ".py" : task.backend == "cuda" ? ".cu" : ".cc"));
}

void add_summary(Json& object, const RunData& run, const SpeculationLedger& ledger) {
  const RunState& state = run.state;
  boost::json::array tasks;
  for (std::uint32_t i = 0; i < state.tasks.size(); ++i) {
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
              {"file", existing_file(run.folder, state.run.tasks[i])}};
    }
    TaskNumbers numbers = numbers_of(state, i);
    tasks.push_back({{"name", state.run.tasks[i].name},
                     {"best", std::move(best)},
                     {"iterations", numbers.iterations},
                     {"feedback", numbers.feedback},
                     {"profiled", numbers.profiled},
                     {"forks", numbers.forks},
                     {"harvested", numbers.harvested},
                     {"early_stops", numbers.early_stops}});
  }
  boost::json::object& into = object.as_object();
  into["run"] = run.folder.string();
  into["state"] = to_string(run.status());
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
          {"given_up", ledger.abandoned},
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

std::string summary_text(const RunData& run, const SpeculationLedger& ledger, bool colour) {
  const RunState& state = run.state;
  std::size_t width = 4;
  for (const RunTask& task : state.run.tasks) width = std::max(width, task.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:<16}  {:>10}  {:>8}  {:>8}  {:>6}  {:>9}  {:>13}\n", "task",
                  width, "speedup", "95 % interval", "iterations", "feedback", "profiled", "forks",
                  "harvested", "stopped early");
  for (std::uint32_t i = 0; i < state.tasks.size(); ++i) {
    const TaskState& task = state.tasks[i];
    TaskNumbers numbers = numbers_of(state, i);
    std::string speedup = fmt::format("{:>8}", "none"), interval;
    if (task.best.value != 0) {
      const Speedup& best = state.candidates.at(task.best).speedup();
      speedup = fmt::format("{:>8}", fmt::format("{:.3g}x", best.median));
      interval = fmt::format("{:.3g} to {:.3g}", best.low, best.high);
    }
    if (colour)
      speedup = fmt::format("\x1b[1;{}m{}\x1b[0m", task.best_speedup > 1 ? 32 : 33, speedup);
    text += fmt::format("{:<{}}  {}  {:<16}  {:>10}  {:>8}  {:>8}  {:>6}  {:>9}  {:>13}\n",
                        state.run.tasks[i].name, width, speedup, interval, numbers.iterations,
                        numbers.feedback, numbers.profiled, numbers.forks, numbers.harvested,
                        numbers.early_stops);
  }
  for (std::uint32_t i = 0; i < state.tasks.size(); ++i) {
    if (auto missing = why_no_result(run, i)) {
      text += fmt::format("{} has no result: {}; {}\n", state.run.tasks[i].name, missing->reason,
                          missing->advice);
    }
  }
  text += fmt::format("\n{} in {}: {}\n", run.folder.string(), format_duration(ledger.wall),
                      status_text(run));
  text += fmt::format("tokens: {} main, {} forks", count_text(state.tokens.main),
                      count_text(state.tokens.forks));
  if (state.tokens.other > 0) text += fmt::format(", {} other", count_text(state.tokens.other));
  if (state.dollars > 0) text += fmt::format("; ${:.2f}", state.dollars);
  if (state.tokens.maybe_charged > 0) {
    text += fmt::format("; up to {} more for calls whose end was not recorded",
                        count_text(state.tokens.maybe_charged));
  }
  text += fmt::format("\ndevices: {}, {:.0f} % of their time used for results that counted\n",
                      ledger.devices, 100 * ledger.utilisation());
  if (state.run.speculate) {
    text += fmt::format(
        "speculation: {:.0f} % of {} iterations stopped early ({} by harvest, {} by forks), {} "
        "abandoned; {}\n",
        100 * ledger.early_share(), ledger.iterations, ledger.stopped_by_harvest,
        ledger.stopped_by_fork, ledger.abandoned, saved_text(ledger));
    text += fmt::format(
        "             paid {} tokens for forks and {} of device time; net {}{} tokens\n",
        count_text(ledger.tokens.forks), format_duration(ledger.speculative_device_time()),
        ledger.net_tokens() < 0 ? "-" : "+", count_text(std::abs(ledger.net_tokens())));
  }
  return text;
}

}  // namespace specgen
