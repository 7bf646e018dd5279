#include "report/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kGreen = "\x1b[32m",
                           kPlain = "\x1b[0m";

// As many characters as fit, each counted as one column; colour codes count as none.
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

std::string spent_of(std::string spent, std::string budget) {
  return budget.empty() ? spent : fmt::format("{} of {}", spent, budget);
}

// "1m12s": without fractions, because it changes all the time.
std::string clock_text(Duration duration) {
  auto all = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (all >= 3600) return fmt::format("{}h{:02}m", all / 3600, all / 60 % 60);
  if (all >= 60) return fmt::format("{}m{:02}s", all / 60, all % 60);
  return fmt::format("{}s", all);
}

std::string task_line(const TaskProgress& task, const ProgressView& view, std::size_t name_width,
                      bool colour) {
  auto in = [&](std::string_view style, std::string text) {
    return colour ? fmt::format("{}{}{}", style, text, kPlain) : text;
  };
  std::string iterations = fmt::format("{}", task.numbers.iterations);
  if (view.budgets.iterations > 0) iterations += fmt::format("/{}", view.budgets.iterations);
  std::string phase = fmt::format(
      "{} {}", task.phase, clock_text(std::max(Duration{}, view.elapsed - task.phase_began)));
  std::string best = task.best > 0 ? fmt::format("{:.3g}x", task.best) : "–";
  return fmt::format(
      "{}  best {:>6}  iteration {:<6} {:<16} {}", in(kBold, padded(task.name, name_width)),
      in(task.best > 1 ? kGreen : kPlain, fmt::format("{:>6}", best)), iterations, phase,
      in(kDim,
         fmt::format("{} forks · {} harvested · {} judged · {} profiled · {} stopped early · "
                     "{} tokens",
                     task.numbers.forks, task.numbers.harvested, task.judged, task.numbers.profiled,
                     task.numbers.early_stops, format_count(static_cast<double>(task.tokens)))));
}

std::string run_line(const ProgressView& view) {
  const RunBudgets& budgets = view.budgets;
  std::string text = fmt::format("{}/{} devices busy", view.busy_devices, view.devices);
  if (view.queued > 0) text += fmt::format(" · {} queued", view.queued);
  text += " · " + spent_of(clock_text(view.elapsed),
                           budgets.wall > Duration{} ? clock_text(budgets.wall) : "");
  auto count = [](std::int64_t tokens) { return format_count(static_cast<double>(tokens)); };
  text += " · " + spent_of(count(view.tokens), budgets.tokens > 0 ? count(budgets.tokens) : "") +
          " tokens";
  if (view.dollars > 0 || budgets.dollars > 0) {
    text += " · " + spent_of(fmt::format("${:.2f}", view.dollars),
                             budgets.dollars > 0 ? fmt::format("${:.2f}", budgets.dollars) : "");
  }
  return text;
}

std::string speedup_text(const Speedup& speedup) {
  return fmt::format("{:.3g}x ({:.3g} to {:.3g})", speedup.median, speedup.low, speedup.high);
}

const std::string& task_name(const RunState& state, const CandidateState& candidate) {
  std::uint32_t task = state.iterations.at(candidate.found.iteration).begun.task;
  return state.run.tasks[task].name;
}

ProgressEvent ended_event(const RunState& state, const IterationState& iteration) {
  const std::string& name = state.run.tasks[iteration.begun.task].name;
  const IterationEnded& ended = *iteration.ended;
  std::string note = printable(first_line(ended.note));
  switch (ended.end) {
    case IterationEnd::stopped: {
      std::string text = fmt::format("{}: stopped early: {} meets the stopping criterion", name,
                                     to_string(ended.by));
      if (ended.saved_tokens > 0) {
        text += fmt::format("; about {} tokens saved",
                            format_count(static_cast<double>(ended.saved_tokens)));
      }
      return {text};
    }
    case IterationEnd::restarted:
      return {fmt::format("{}: reasoning restarted: {}", name, note)};
    case IterationEnd::abandoned:
      return {fmt::format("{}: reasoning abandoned: {}", name, note)};
    case IterationEnd::failed:
      return {fmt::format("{}: the model failed: {}", name, note), true};
    case IterationEnd::no_kernel:
      return {fmt::format("{}: the answer has no kernel: {}", name, note)};
    case IterationEnd::superseded:
      return {fmt::format("{}: superseded by a parallel iteration", name)};
    case IterationEnd::answered:
    case IterationEnd::interrupted:
      break;
  }
  std::int64_t number = numbers_of(state, iteration.begun.task).iterations;
  return {fmt::format("{}: iteration {} {}", name, number,
                      ended.end == IterationEnd::answered ? "ends" : "was interrupted")};
}

// Of a run that had begun before this tracker saw it.
ProgressEvent past_event(const RunState& state) {
  std::int64_t iterations = 0;
  std::vector<std::string> bests;
  for (std::uint32_t i = 0; i < state.tasks.size(); ++i) {
    iterations += numbers_of(state, i).iterations;
    if (state.tasks[i].best_speedup > 0) {
      bests.push_back(
          fmt::format("{} {:.3g}x", state.run.tasks[i].name, state.tasks[i].best_speedup));
    }
  }
  return {fmt::format("the run continues: {} iterations so far, best {}", iterations,
                      bests.empty() ? "none" : join(bests, ", ")),
          true};
}

}  // namespace

std::vector<std::string> progress_lines(const ProgressView& view, TerminalSize size) {
  std::vector<std::string> lines;
  std::size_t max_tasks = std::max<std::size_t>(1, size.rows > 4 ? size.rows - 3 : 1);
  std::size_t name_width = 4;
  for (const TaskProgress& task : view.tasks) {
    name_width = std::min<std::size_t>(24, std::max(name_width, task.name.size()));
  }
  for (const TaskProgress& task : view.tasks) {
    if (lines.size() == max_tasks) break;
    lines.push_back(fitted(task_line(task, view, name_width, size.colour), size.columns));
  }
  if (view.tasks.size() > max_tasks) {
    lines.push_back(
        fitted(fmt::format("… and {} more tasks", view.tasks.size() - max_tasks), size.columns));
  }
  lines.push_back(fitted(run_line(view), size.columns));
  return lines;
}

ProgressEvents ProgressTracker::update(const RunState& state, Duration now) {
  ProgressEvents events;
  if (!state.begun()) return events;
  const bool is_first = !has_begun_;
  has_begun_ = true;
  tasks_.resize(state.tasks.size());
  if (!is_first && state.resumptions > resumptions_) events.push_back({"the run is resumed", true});
  resumptions_ = state.resumptions;
  add_new_iterations(state, events);
  add_calls(state);
  add_candidates(state, events);
  add_ended_iterations(state, events);
  if (state.ended != ended_) {
    ended_ = state.ended;
    if (!ended_.empty()) events.push_back({fmt::format("the run ends: {}", ended_)});
  }
  settle_phases(state, now);
  if (is_first) {
    events.clear();
    if (!state.iterations.empty()) events.push_back(past_event(state));
  }
  return events;
}

void ProgressTracker::add_new_iterations(const RunState& state, ProgressEvents& events) {
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    const std::vector<IterationId>& all = state.tasks[task].iterations;
    for (std::size_t& seen = tasks_[task].iterations; seen < all.size(); ++seen) {
      open_iterations_.insert(all[seen]);
      events.push_back(
          {fmt::format("{}: iteration {} begins", state.run.tasks[task].name,
                       numbers_of(state, static_cast<std::uint32_t>(task)).iterations)});
    }
  }
}

void ProgressTracker::add_calls(const RunState& state) {
  for (auto call = state.calls.upper_bound(last_call_); call != state.calls.end(); ++call) {
    open_calls_.insert(call->first);
    last_call_ = call->first;
  }
  std::erase_if(open_calls_, [&](std::uint64_t id) {
    const CallState& call = state.calls.at(id);
    if (!call.done) return false;
    auto iteration = state.iterations.find(call.sent.iteration);
    if (iteration != state.iterations.end()) {
      tasks_[iteration->second.begun.task].tokens += call.done->usage.fresh_tokens();
    }
    return true;
  });
}

void ProgressTracker::add_candidates(const RunState& state, ProgressEvents& events) {
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    const std::vector<CandidateId>& all = state.tasks[task].candidates;
    for (std::size_t& seen = tasks_[task].candidates; seen < all.size(); ++seen) {
      unjudged_.insert(all[seen]);
    }
  }
  std::erase_if(unjudged_, [&](CandidateId id) {
    const CandidateState& candidate = state.candidates.at(id);
    if (!candidate.judged) return false;
    if (candidate.judged->withdrawn) return true;
    events.push_back(judged_event(state, candidate));
    if (is_feedback(*candidate.judged) && !candidate.found.shadow) untuned_.insert(id);
    return true;
  });
  std::erase_if(untuned_, [&](CandidateId id) {
    const CandidateState& candidate = state.candidates.at(id);
    if (candidate.tuned) events.push_back(tuned_event(state, candidate));
    return candidate.tuned.has_value();
  });
}

void ProgressTracker::add_ended_iterations(const RunState& state, ProgressEvents& events) {
  std::erase_if(open_iterations_, [&](IterationId id) {
    const IterationState& iteration = state.iterations.at(id);
    if (iteration.ended) events.push_back(ended_event(state, iteration));
    return iteration.ended.has_value();
  });
}

void ProgressTracker::settle_phases(const RunState& state, Duration now) {
  std::vector<std::string_view> phases(tasks_.size(), "waiting");
  for (CandidateId id : unjudged_) {
    phases[state.iterations.at(state.candidates.at(id).found.iteration).begun.task] = "evaluating";
  }
  for (IterationId id : open_iterations_) phases[state.iterations.at(id).begun.task] = "reasoning";
  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].phase == phases[task]) continue;
    tasks_[task].phase = phases[task];
    tasks_[task].phase_began = now;
  }
}

bool ProgressTracker::is_new_best(const RunState& state, const CandidateState& candidate) {
  std::uint32_t task = state.iterations.at(candidate.found.iteration).begun.task;
  if (state.tasks[task].best != candidate.found.id) return false;
  if (!(state.tasks[task].best_speedup > tasks_[task].best)) return false;
  tasks_[task].best = state.tasks[task].best_speedup;
  return true;
}

ProgressEvent ProgressTracker::judged_event(const RunState& state,
                                            const CandidateState& candidate) {
  const CandidateJudged& judged = *candidate.judged;
  ++tasks_[state.iterations.at(candidate.found.iteration).begun.task].judged;
  std::string text =
      fmt::format("{}: {} ({}) {}", task_name(state, candidate), to_string(candidate.found.id),
                  to_string(candidate.found.origin), to_string(judged.verdict));
  if (judged.profiled) text += ", " + speedup_text(judged.speedup);
  if (judged.repeated) text += ", same as an earlier one";
  if (candidate.found.shadow) text += ", from a shadow";
  const bool is_best = is_new_best(state, candidate);
  if (is_best) text += ", the best so far";
  return {std::move(text), is_best};
}

ProgressEvent ProgressTracker::tuned_event(const RunState& state, const CandidateState& candidate) {
  std::vector<std::string> values;
  for (const auto& [name, value] : candidate.tuned->tunables) {
    values.push_back(fmt::format("{} = {}", name, value));
  }
  const bool is_best = is_new_best(state, candidate);
  return {fmt::format("{}: {} tuned: {}: {}{}", task_name(state, candidate),
                      to_string(candidate.found.id), printable(join(values, ", ")),
                      speedup_text(candidate.tuned->speedup), is_best ? ", the best so far" : ""),
          is_best};
}

ProgressView ProgressTracker::view(const RunState& state, const PoolLoad& load,
                                   Duration elapsed) const {
  ProgressView view;
  for (std::uint32_t i = 0; i < state.tasks.size(); ++i) {
    TaskProgress task{.name = state.run.tasks[i].name, .best = state.tasks[i].best_speedup};
    task.numbers = numbers_of(state, i);
    if (i < tasks_.size()) {
      task.phase = tasks_[i].phase;
      task.phase_began = tasks_[i].phase_began;
      task.judged = tasks_[i].judged;
      task.tokens = tasks_[i].tokens;
    }
    view.tasks.push_back(std::move(task));
  }
  view.budgets = state.run.budgets;
  view.devices = load.devices;
  view.busy_devices = load.devices - std::min(load.devices, load.idle_devices);
  for (std::size_t waiting : load.queued) view.queued += waiting;
  view.elapsed = elapsed;
  view.tokens = state.tokens.main + state.tokens.forks + state.tokens.other;
  view.dollars = state.dollars;
  return view;
}

}  // namespace specgen
