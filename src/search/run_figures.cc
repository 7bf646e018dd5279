#include "search/run_figures.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>

namespace specgen {
namespace {

constexpr double kInFlightEnds = 10'000;  // seconds, as the paper draws it
constexpr int kInFlightPoints = 200;

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

// Of the main generation of each iteration.
std::map<IterationId, const CallDone*> main_calls(const RunState& state) {
  std::map<IterationId, const CallDone*> calls;
  for (const auto& [id, call] : state.calls) {
    if (call.sent.purpose == "main" && call.done) calls[call.sent.iteration] = &*call.done;
  }
  return calls;
}

bool counts(const IterationState& iteration) {
  return iteration.ended && iteration.ended->end != IterationEnd::interrupted &&
         iteration.begun.role != kStartRole;
}

void add_iterations(const RunState& state, std::size_t generations, RunFigures& figures) {
  for (std::size_t task = 0; task < state.tasks.size(); ++task) {
    TaskFigures its{.name = state.run.tasks[task].name, .runs = 1};
    std::size_t in_round = 0;
    bool has_feedback = false;
    auto end_round = [&] {
      ++its.iterations;
      its.with_feedback += has_feedback;
      in_round = 0;
      has_feedback = false;
    };
    for (IterationId id : state.tasks[task].iterations) {
      const IterationState& iteration = state.iterations.at(id);
      // One that a kill or the end of the run interrupted is none.
      if (!counts(iteration)) continue;
      has_feedback |= iteration.feedback > 0;
      if (iteration.ended->end == IterationEnd::stopped) {
        ++figures.early_stops;
        auto spent = static_cast<double>(iteration.ended->tokens);
        double saved = static_cast<double>(iteration.shadow ? iteration.shadow->saved_tokens
                                                            : iteration.ended->saved_tokens);
        figures.stops.push_back(share(spent, spent + saved));
      }
      if (iteration.ended->end == IterationEnd::restarted) continue;
      if (++in_round == generations) end_round();
    }
    if (in_round > 0) end_round();
    figures.iterations += its.iterations;
    figures.with_feedback += its.with_feedback;
    figures.failed += its.iterations - its.with_feedback;
    figures.tasks.push_back(std::move(its));
  }
  std::ranges::sort(figures.stops);
}

// After add_iterations(). Advice is of no iteration and not seen here: a kernel follows it.
void add_task_times(const RunState& state, RunFigures& figures) {
  auto came = [&](IterationId id, Duration at) {
    auto iteration = state.iterations.find(id);
    if (iteration == state.iterations.end()) return;
    TaskFigures& task = figures.tasks[iteration->second.begun.task];
    task.wall_s = std::max(task.wall_s, seconds(at));
  };
  for (const auto& [id, call] : state.calls) {
    if (call.done) came(call.sent.iteration, call.done->ended);
  }
  for (const auto& [id, candidate] : state.candidates) {
    if (candidate.judged) came(candidate.found.iteration, candidate.judged->at);
    if (candidate.tuned) came(candidate.found.iteration, candidate.tuned->at);
  }
}

// A candidate that stopped nothing, of the model's own answer: until it is evaluated the iteration continues.
void add_shares(const RunState& state, RunFigures& figures) {
  std::map<IterationId, const CallDone*> calls = main_calls(state);
  std::map<IterationId, Duration> judged;
  for (const auto& [id, candidate] : state.candidates) {
    if (candidate.found.origin != Origin::main || !candidate.judged) continue;
    Duration& at = judged[candidate.found.iteration];
    at = std::max(at, candidate.judged->at);
  }
  for (const auto& [id, call] : calls) {
    auto iteration = state.iterations.find(id);
    if (iteration == state.iterations.end() || !counts(iteration->second)) continue;
    auto its_end = judged.find(id);
    Duration end = its_end == judged.end() ? call->ended : std::max(call->ended, its_end->second);
    figures.shares.push_back(share(seconds(call->ended - call->sent), seconds(end - call->sent)));
  }
  std::ranges::sort(figures.shares);
}

void add_candidates(const RunState& state, RunFigures& figures) {
  figures.candidates = static_cast<std::int64_t>(state.candidates.size());
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.judged || candidate.judged->withdrawn || candidate.judged->repeated) continue;
    for (const StageSpan& span : candidate.spans()) {
      if (span.stage == Stage::compile) continue;
      figures.useful_device_s += seconds(span.ended - span.started);
    }
    if (!candidate.judged->profiled) continue;
    ++figures.profiled;
    figures.waits_s.push_back(seconds(candidate.judged->at - candidate.found.at));
  }
  std::ranges::sort(figures.waits_s);
}

// How many tokens had been paid for at a time: a call pays evenly from its beginning to its end. Asked for later and
// later times.
class TokensOverTime {
 public:
  explicit TokensOverTime(const RunState& state) {
    for (const auto& [id, call] : state.calls) {
      if (!call.done) continue;
      double tokens = static_cast<double>(call.done->usage.fresh_tokens());
      double whole = seconds(call.done->ended - call.done->sent);
      if (whole > 0) {
        changes_.push_back({.at = call.done->sent, .rate = tokens / whole});
        changes_.push_back({.at = call.done->ended, .rate = -tokens / whole});
      } else {
        changes_.push_back({.at = call.done->sent, .at_once = tokens});
      }
    }
    std::ranges::sort(changes_, {}, &Change::at);
  }

  std::int64_t until(Duration at) {
    for (; next_ < changes_.size() && changes_[next_].at < at; ++next_) {
      go_on_to(changes_[next_].at);
      rate_ += changes_[next_].rate;
      tokens_ += changes_[next_].at_once;
    }
    go_on_to(at);
    return std::llround(tokens_);
  }

 private:
  struct Change {
    Duration at;
    double rate = 0;  // tokens per second, more
    double at_once = 0;
  };
  void go_on_to(Duration at) {
    tokens_ += rate_ * seconds(at - now_);
    now_ = at;
  }

  std::vector<Change> changes_;
  std::size_t next_ = 0;
  Duration now_{};
  double rate_ = 0;
  double tokens_ = 0;
};

void add_best(const RunState& state, RunFigures& figures) {
  struct Gain {
    Duration at;
    CandidateId id;
    std::size_t task;
    double speedup;
  };
  std::vector<Gain> all;
  for (std::size_t task = 0; task < state.tasks.size(); ++task) {
    for (CandidateId id : state.tasks[task].confirmed) {
      const CandidateJudged& judged = *state.candidates.at(id).judged;
      all.push_back({judged.at, id, task, judged.speedup.median});
    }
  }
  std::ranges::sort(all, [](const Gain& a, const Gain& b) {
    return std::pair(a.at, a.id) < std::pair(b.at, b.id);
  });
  TokensOverTime tokens(state);
  std::vector<double> best(state.tasks.size(), 0);
  double sum_of_logs = 0;
  for (const Gain& gain : all) {
    double& known = best[gain.task];
    if (gain.speedup <= known || gain.speedup <= 0) continue;
    sum_of_logs += std::log(gain.speedup) - (known > 0 ? std::log(known) : 0);
    known = gain.speedup;
    figures.best.push_back(
        {.time_s = seconds(gain.at),
         .tokens = tokens.until(gain.at),
         .speedup = std::exp(sum_of_logs / static_cast<double>(state.tasks.size()))});
  }
}

void add_in_flight(const RunState& state, RunFigures& figures) {
  double ends = std::min(kInFlightEnds, figures.wall_s);
  for (int i = 0; i < kInFlightPoints; ++i) {
    figures.in_flight.push_back({.time_s = ends * i / kInFlightPoints});
  }
  auto count = [&](Duration from, Duration to, std::int64_t InFlight::* kind) {
    double step = ends / kInFlightPoints;
    if (step <= 0) return;
    auto first = static_cast<std::int64_t>(std::ceil(seconds(from) / step));
    for (std::int64_t i = std::max<std::int64_t>(first, 0); i < kInFlightPoints; ++i) {
      InFlight& point = figures.in_flight[static_cast<std::size_t>(i)];
      if (point.time_s >= seconds(to)) break;
      ++(point.*kind);
    }
  };
  for (const auto& [id, call] : state.calls) {
    if (!call.done) continue;
    bool is_fork = call.sent.purpose == "fork";
    count(call.done->sent, call.done->ended, is_fork ? &InFlight::forks : &InFlight::reasoning);
  }
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.judged) continue;
    for (const StageSpan& span : candidate.spans()) {
      if (span.stage != Stage::validate && span.stage != Stage::profile) continue;
      count(span.queued.time_since_epoch(), span.ended.time_since_epoch(),
            span.stage == Stage::validate ? &InFlight::validating : &InFlight::profiling);
    }
  }
}

void add_tasks(std::vector<TaskFigures>& all, const std::vector<TaskFigures>& more) {
  for (const TaskFigures& one : more) {
    auto same = std::ranges::find(all, one.name, &TaskFigures::name);
    if (same == all.end()) {
      all.push_back(one);
      continue;
    }
    same->runs += one.runs;
    same->wall_s += one.wall_s;
    same->iterations += one.iterations;
    same->with_feedback += one.with_feedback;
  }
}

void merge_sorted(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
  std::ranges::sort(all);
}

boost::json::array list_of(const std::vector<double>& numbers) {
  boost::json::array list;
  for (double number : numbers) list.push_back(number);
  return list;
}

std::vector<double> numbers_at(const Json& json, std::string_view key) {
  std::vector<double> numbers;
  const Json* list = member_at(json, key);
  if (!list || !list->is_array()) return numbers;
  for (const Json& item : list->get_array()) {
    numbers.push_back(item.is_number() ? item.to_number<double>() : 0);
  }
  return numbers;
}

boost::json::array list_of(const std::vector<TaskFigures>& tasks) {
  boost::json::array list;
  for (const TaskFigures& task : tasks) {
    list.push_back({{"name", task.name},
                    {"runs", task.runs},
                    {"wall_s", task.wall_s},
                    {"iterations", task.iterations},
                    {"with_feedback", task.with_feedback}});
  }
  return list;
}

// None where there is no list: figures that were written before there were any.
Result<std::vector<TaskFigures>> tasks_at(const Json& json) {
  std::vector<TaskFigures> tasks;
  const Json* list = member_at(json, "tasks");
  if (!list) return tasks;
  if (!list->is_array()) return fail(ErrorCode::bad_message, "tasks of figures are no list");
  for (const Json& item : list->get_array()) {
    if (int_at(item, "runs") < 1) {
      return fail(ErrorCode::bad_message, "a task of figures is none");
    }
    tasks.push_back({.name = text_at(item, "name"),
                     .runs = int_at(item, "runs"),
                     .wall_s = number_at(item, "wall_s"),
                     .iterations = int_at(item, "iterations"),
                     .with_feedback = int_at(item, "with_feedback")});
  }
  return tasks;
}

}  // namespace

double TaskFigures::mean_wall_s() const {
  return share(wall_s, static_cast<double>(runs));
}
double TaskFigures::feedback_per_100() const {
  return 100 * share(static_cast<double>(with_feedback), static_cast<double>(iterations));
}

double quantile_of(const std::vector<double>& sorted, double quantile) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1))];
}

double RunFigures::feedback_per_100() const {
  return 100 * share(static_cast<double>(with_feedback), static_cast<double>(iterations));
}
double RunFigures::utilization() const {
  return share(useful_device_s, device_s);
}
double RunFigures::device_s_per_feedback() const {
  return share(useful_device_s, static_cast<double>(with_feedback));
}
double RunFigures::early_stop_share() const {
  return share(static_cast<double>(early_stops), static_cast<double>(iterations));
}
double RunFigures::generation_share() const {
  return quantile_of(shares, 0.75);
}
double RunFigures::wait_s(double quantile) const {
  return quantile_of(waits_s, quantile);
}
double RunFigures::best_speedup() const {
  return best.empty() ? 1 : best.back().speedup;
}
double RunFigures::best_at_time(double time_s) const {
  auto after = std::ranges::upper_bound(best, time_s, {}, &BestSince::time_s);
  return after == best.begin() ? 1 : std::prev(after)->speedup;
}
double RunFigures::best_at_tokens(std::int64_t most) const {
  auto after = std::ranges::upper_bound(best, most, {}, &BestSince::tokens);
  return after == best.begin() ? 1 : std::prev(after)->speedup;
}

RunFigures figures_of(const RunState& state, std::size_t devices, std::size_t generations) {
  RunFigures figures;
  figures.wall_s = seconds(state.last_at);
  for (const auto& [id, call] : state.calls) {
    if (!call.done) continue;
    figures.tokens += call.done->usage.fresh_tokens();
    if (call.sent.purpose == "fork") figures.fork_tokens += call.done->usage.fresh_tokens();
  }
  figures.device_s = static_cast<double>(devices) * figures.wall_s;
  add_iterations(state, std::max<std::size_t>(generations, 1), figures);
  add_task_times(state, figures);
  add_shares(state, figures);
  add_candidates(state, figures);
  add_best(state, figures);
  add_in_flight(state, figures);
  return figures;
}

void add(RunFigures& all, const RunFigures& one) {
  all.wall_s += one.wall_s;
  all.iterations += one.iterations;
  all.with_feedback += one.with_feedback;
  all.failed += one.failed;
  all.early_stops += one.early_stops;
  all.candidates += one.candidates;
  all.profiled += one.profiled;
  all.tokens += one.tokens;
  all.fork_tokens += one.fork_tokens;
  all.device_s += one.device_s;
  all.useful_device_s += one.useful_device_s;
  merge_sorted(all.shares, one.shares);
  merge_sorted(all.stops, one.stops);
  merge_sorted(all.waits_s, one.waits_s);
  if (all.best.empty()) all.best = one.best;
  if (all.in_flight.empty()) all.in_flight = one.in_flight;
  add_tasks(all.tasks, one.tasks);
}

Json to_json(const RunFigures& figures) {
  boost::json::array best, in_flight;
  for (const BestSince& since : figures.best) {
    best.push_back(boost::json::array{since.time_s, since.tokens, since.speedup});
  }
  for (const InFlight& point : figures.in_flight) {
    in_flight.push_back(boost::json::array{point.time_s, point.reasoning, point.forks,
                                           point.validating, point.profiling});
  }
  return {{"wall_s", figures.wall_s},
          {"iterations", figures.iterations},
          {"with_feedback", figures.with_feedback},
          {"failed", figures.failed},
          {"early_stops", figures.early_stops},
          {"candidates", figures.candidates},
          {"profiled", figures.profiled},
          {"tokens", figures.tokens},
          {"fork_tokens", figures.fork_tokens},
          {"device_s", figures.device_s},
          {"useful_device_s", figures.useful_device_s},
          {"shares", list_of(figures.shares)},
          {"stops", list_of(figures.stops)},
          {"waits_s", list_of(figures.waits_s)},
          {"best", std::move(best)},
          {"in_flight", std::move(in_flight)},
          {"tasks", list_of(figures.tasks)}};
}

Result<RunFigures> run_figures_from(const Json& json) {
  auto is_list = [&](std::string_view key) {
    const Json* list = member_at(json, key);
    return list && list->is_array();
  };
  if (!is_list("best") || !is_list("in_flight") || int_at(json, "iterations", -1) < 0) {
    return fail(ErrorCode::bad_message, "these are no figures of a run");
  }
  std::vector<TaskFigures> tasks = TRY(tasks_at(json));
  RunFigures figures{.wall_s = number_at(json, "wall_s"),
                     .iterations = int_at(json, "iterations"),
                     .with_feedback = int_at(json, "with_feedback"),
                     .failed = int_at(json, "failed"),
                     .early_stops = int_at(json, "early_stops"),
                     .candidates = int_at(json, "candidates"),
                     .profiled = int_at(json, "profiled"),
                     .tokens = int_at(json, "tokens"),
                     .fork_tokens = int_at(json, "fork_tokens"),
                     .device_s = number_at(json, "device_s"),
                     .useful_device_s = number_at(json, "useful_device_s"),
                     .shares = numbers_at(json, "shares"),
                     .stops = numbers_at(json, "stops"),
                     .waits_s = numbers_at(json, "waits_s"),
                     .best = {},
                     .in_flight = {},
                     .tasks = std::move(tasks)};
  auto rows = [](const Json& list, std::size_t width, auto take) -> Result<void> {
    for (const Json& item : list.get_array()) {
      const auto* row = item.if_array();
      bool whole = row && row->size() == width &&
                   std::ranges::all_of(*row, [](const Json& cell) { return cell.is_number(); });
      if (!whole) return fail(ErrorCode::bad_message, "a row of figures is none");
      take(*row);
    }
    return {};
  };
  TRY(rows(*member_at(json, "best"), 3, [&](const boost::json::array& row) {
    figures.best.push_back({.time_s = row[0].to_number<double>(),
                            .tokens = row[1].to_number<std::int64_t>(),
                            .speedup = row[2].to_number<double>()});
  }));
  TRY(rows(*member_at(json, "in_flight"), 5, [&](const boost::json::array& row) {
    figures.in_flight.push_back({.time_s = row[0].to_number<double>(),
                                 .reasoning = row[1].to_number<std::int64_t>(),
                                 .forks = row[2].to_number<std::int64_t>(),
                                 .validating = row[3].to_number<std::int64_t>(),
                                 .profiling = row[4].to_number<std::int64_t>()});
  }));
  return figures;
}

}  // namespace specgen
