#include "report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kGreen = "\x1b[32m",
                           kPlain = "\x1b[0m";

// As many characters as fit, each counted as one column; what colours is not counted.
std::string fitted(std::string_view text, std::size_t columns) {
  std::string kept;
  std::size_t used = 0;
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.front() == '\x1b') {
      length = std::min(text.size(), text.find('m') + 1);
    } else {
      length = std::max<std::size_t>(1, character_length(text));
      if (++used > columns) break;
    }
    kept += text.substr(0, length);
    text.remove_prefix(length);
  }
  if (used > columns) kept += kPlain;
  return kept;
}

std::string padded(std::string_view text, std::size_t width) {
  return fmt::format("{:<{}}", fitted(text, width), width);
}

std::string of_budget(std::string spent, std::string budget) {
  return budget.empty() ? spent : fmt::format("{} of {}", spent, budget);
}

// "1m12s": a clock that ticks is read better without fractions.
std::string clock_text(Duration duration) {
  auto all = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (all >= 3600) return fmt::format("{}h{:02}m", all / 3600, all / 60 % 60);
  if (all >= 60) return fmt::format("{}m{:02}s", all / 60, all % 60);
  return fmt::format("{}s", all);
}

std::string task_line(const TaskProgress& task, const ProgressView& view, std::size_t name_width,
                      bool colour) {
  auto in = [&](std::string_view how, std::string text) {
    return colour ? fmt::format("{}{}{}", how, text, kPlain) : text;
  };
  std::string iterations = fmt::format("{}", task.iterations);
  if (view.budgets.iterations > 0) iterations += fmt::format("/{}", view.budgets.iterations);
  std::string phase = fmt::format(
      "{} {}", task.phase, clock_text(std::max(Duration{}, view.elapsed - task.phase_began)));
  std::string best = task.best > 0 ? fmt::format("{:.3g}x", task.best) : "–";
  return fmt::format(
      "{}  best {:>6}  iteration {:<6} {:<16} {}", in(kBold, padded(task.name, name_width)),
      in(task.best > 1 ? kGreen : kPlain, fmt::format("{:>6}", best)), iterations, phase,
      in(kDim, fmt::format("{} forks · {} harvested · {} judged · {} feedback · {} stopped early · "
                           "{} tokens",
                           task.forks, task.harvested, task.judged, task.feedback, task.early_stops,
                           format_count(static_cast<double>(task.tokens)))));
}

std::string run_line(const ProgressView& view) {
  const RunBudgets& budgets = view.budgets;
  std::string text = fmt::format("{}/{} devices busy", view.busy_devices, view.devices);
  if (view.queued > 0) text += fmt::format(" · {} queued", view.queued);
  text += " · " + of_budget(clock_text(view.elapsed),
                            budgets.wall > Duration{} ? clock_text(budgets.wall) : "");
  auto count = [](std::int64_t tokens) { return format_count(static_cast<double>(tokens)); };
  text += " · " + of_budget(count(view.tokens), budgets.tokens > 0 ? count(budgets.tokens) : "") +
          " tokens";
  if (view.dollars > 0 || budgets.dollars > 0) {
    text += " · " + of_budget(fmt::format("${:.2f}", view.dollars),
                              budgets.dollars > 0 ? fmt::format("${:.2f}", budgets.dollars) : "");
  }
  return text;
}

}  // namespace

std::vector<std::string> progress_lines(const ProgressView& view, TerminalSize size) {
  std::vector<std::string> lines;
  std::size_t most = std::max<std::size_t>(1, size.rows > 4 ? size.rows - 3 : 1);
  std::size_t name_width = 4;
  for (const TaskProgress& task : view.tasks) {
    name_width = std::min<std::size_t>(24, std::max(name_width, task.name.size()));
  }
  for (const TaskProgress& task : view.tasks) {
    if (lines.size() == most) break;
    lines.push_back(fitted(task_line(task, view, name_width, size.colour), size.columns));
  }
  if (view.tasks.size() > most) {
    lines.push_back(
        fitted(fmt::format("… and {} more tasks", view.tasks.size() - most), size.columns));
  }
  lines.push_back(fitted(run_line(view), size.columns));
  return lines;
}

ProgressTracker::Watched* ProgressTracker::watched(std::uint64_t iteration) {
  auto found = task_of_iteration_.find(iteration);
  return found == task_of_iteration_.end() ? nullptr : &tasks_[found->second];
}

void ProgressTracker::settle_phase(Watched& task, Duration now) {
  std::string_view phase = task.reasoning > 0  ? "thinking"
                           : task.unjudged > 0 ? "judging"
                                               : "waiting";
  if (phase == task.progress.phase) return;
  task.progress.phase = phase;
  task.progress.phase_began = now;
}

std::optional<ProgressEvent> ProgressTracker::take(const Entry& entry, Duration now) {
  auto parsed = parse_json(entry.body);
  if (!parsed || !parsed->is_object()) return std::nullopt;  // the run itself refuses it
  const Json& body = *parsed;
  if (entry.type == "run") {
    const Json* list = member_at(body, "tasks");
    if (!list || !list->is_array()) return std::nullopt;
    for (const Json& task : list->get_array()) {
      tasks_.emplace_back().progress.name = text_at(task, "name");
    }
    budgets_ = {.wall = std::chrono::microseconds(int_at(body, "wall_us")),
                .tokens = int_at(body, "tokens"),
                .dollars = number_at(body, "dollars"),
                .iterations = int_at(body, "iterations")};
    return std::nullopt;
  }
  if (entry.type == "iteration") {
    auto task = static_cast<std::uint32_t>(int_at(body, "task"));
    if (task >= tasks_.size()) return std::nullopt;
    task_of_iteration_[static_cast<std::uint64_t>(int_at(body, "id"))] = task;
    Watched& its = tasks_[task];
    ++its.reasoning;
    std::int64_t number = ++its.progress.iterations;
    settle_phase(its, now);
    return ProgressEvent{fmt::format("{}: iteration {} begins", its.progress.name, number)};
  }
  if (entry.type == "iteration-ended") return take_iteration_ended(body, now);
  if (entry.type == "call") {
    iteration_of_call_[static_cast<std::uint64_t>(int_at(body, "id"))] =
        static_cast<std::uint64_t>(int_at(body, "iteration"));
  }
  if (entry.type == "call-ended") take_call_ended(body);
  if (entry.type == "candidate") take_candidate(body, now);
  if (entry.type == "judged") return take_judged(body, now);
  if (entry.type == "tuned") return take_tuned(body);
  if (entry.type == "resumed") return ProgressEvent{"the run is resumed", true};
  if (entry.type == "run-ended") {
    return ProgressEvent{fmt::format("the run ends: {}", text_at(body, "why"))};
  }
  return std::nullopt;
}

std::optional<ProgressEvent> ProgressTracker::take_iteration_ended(const Json& body, Duration now) {
  Watched* task = watched(static_cast<std::uint64_t>(int_at(body, "id")));
  if (!task) return std::nullopt;
  task->reasoning = std::max<std::int64_t>(0, task->reasoning - 1);
  settle_phase(*task, now);
  const std::string& name = task->progress.name;
  auto end = parse_iteration_end(text_at(body, "end"));
  std::string note = text_at(body, "note");
  if (end == IterationEnd::stopped) {
    ++task->progress.early_stops;
    // Unknown until a stream has run to its end.
    std::int64_t saved = int_at(body, "saved");
    return ProgressEvent{fmt::format(
        "{}: thinking stopped early, c{} is good enough{}", name, int_at(body, "by"),
        saved == 0
            ? std::string()
            : fmt::format("; about {} tokens saved", format_count(static_cast<double>(saved))))};
  }
  if (end == IterationEnd::restarted) {
    --task->progress.iterations;  // the restart is the same iteration
    return ProgressEvent{fmt::format("{}: thinking restarted: {}", name, printable(note))};
  }
  if (end == IterationEnd::abandoned) {
    return ProgressEvent{fmt::format("{}: thinking abandoned: {}", name, printable(note))};
  }
  if (end == IterationEnd::failed) {
    return ProgressEvent{fmt::format("{}: the model failed: {}", name, printable(first_line(note))),
                         true};
  }
  if (end == IterationEnd::no_kernel) {
    return ProgressEvent{
        fmt::format("{}: no kernel came of it: {}", name, printable(first_line(note)))};
  }
  return ProgressEvent{fmt::format("{}: iteration {} ends", name, task->progress.iterations)};
}

void ProgressTracker::take_call_ended(const Json& body) {
  auto call = iteration_of_call_.find(static_cast<std::uint64_t>(int_at(body, "id")));
  std::int64_t tokens = int_at(body, "prompt") + int_at(body, "completion");
  tokens_ += tokens;
  dollars_ += number_at(body, "dollars");
  if (call == iteration_of_call_.end()) return;
  if (Watched* task = watched(call->second)) task->progress.tokens += tokens;
  iteration_of_call_.erase(call);
}

void ProgressTracker::take_candidate(const Json& body, Duration now) {
  auto iteration = static_cast<std::uint64_t>(int_at(body, "iteration"));
  Watched* task = watched(iteration);
  if (!task) return;
  Found found{.task = task_of_iteration_[iteration],
              .origin = text_at(body, "origin"),
              .shadow = flag_at(body, "shadow")};
  task->progress.forks += found.origin == "fork";
  task->progress.harvested += found.origin == "harvest";
  ++task->unjudged;
  settle_phase(*task, now);
  found_[static_cast<std::uint64_t>(int_at(body, "id"))] = std::move(found);
}

std::optional<ProgressEvent> ProgressTracker::take_judged(const Json& body, Duration now) {
  auto found = found_.find(static_cast<std::uint64_t>(int_at(body, "id")));
  if (found == found_.end()) return std::nullopt;
  Found candidate = std::move(found->second);
  std::uint64_t id = found->first;
  found_.erase(found);
  Watched& task = tasks_[candidate.task];
  task.unjudged = std::max<std::int64_t>(0, task.unjudged - 1);
  settle_phase(task, now);
  if (flag_at(body, "withdrawn")) return std::nullopt;
  ++task.progress.judged;
  std::string text = fmt::format("{}: c{} ({}) {}", task.progress.name, id, candidate.origin,
                                 text_at(body, "verdict"));
  bool is_best = false;
  if (const Json* speedup = member_at(body, "speedup")) {
    double median = number_at(*speedup, "median");
    text += fmt::format(", {:.3g}x ({:.3g} to {:.3g})", median, number_at(*speedup, "low"),
                        number_at(*speedup, "high"));
    if (!candidate.shadow && text_at(body, "verdict") == "ok") {
      ++task.progress.feedback;
      confirmed_[id] = candidate.task;
      is_best = median > task.progress.best;
      if (is_best) task.progress.best = median;
    }
  }
  if (candidate.shadow) text += ", a shadow's";
  if (is_best) text += ", the best so far";
  return ProgressEvent{std::move(text), is_best};
}

std::optional<ProgressEvent> ProgressTracker::take_tuned(const Json& body) {
  auto id = static_cast<std::uint64_t>(int_at(body, "id"));
  auto confirmed = confirmed_.find(id);
  const Json* speedup = member_at(body, "speedup");
  const Json* tunables = member_at(body, "tunables");
  if (confirmed == confirmed_.end() || !speedup || !tunables || !tunables->is_object()) {
    return std::nullopt;
  }
  std::vector<std::string> values;
  for (const auto& [name, value] : tunables->get_object()) {
    if (value.is_int64()) {
      values.push_back(fmt::format("{} = {}", std::string_view(name), value.get_int64()));
    }
  }
  TaskProgress& task = tasks_[confirmed->second].progress;
  double median = number_at(*speedup, "median");
  bool is_best = median > task.best;
  if (is_best) task.best = median;
  return ProgressEvent{
      fmt::format("{}: c{} tuned: {}: {:.3g}x ({:.3g} to {:.3g}){}", task.name, id,
                  printable(join(values, ", ")), median, number_at(*speedup, "low"),
                  number_at(*speedup, "high"), is_best ? ", the best so far" : ""),
      is_best};
}

ProgressView ProgressTracker::view(const PoolLoad& load, Duration elapsed) const {
  ProgressView view;
  for (const Watched& task : tasks_) view.tasks.push_back(task.progress);
  view.budgets = budgets_;
  view.devices = load.devices;
  view.busy_devices = load.devices - std::min(load.devices, load.idle_devices);
  for (std::size_t waiting : load.queued) view.queued += waiting;
  view.elapsed = elapsed;
  view.tokens = tokens_;
  view.dollars = dollars_;
  return view;
}

}  // namespace specgen
