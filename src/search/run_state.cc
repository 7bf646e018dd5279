#include "search/run_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/hash.h"
#include "base/json_storage.h"

namespace specgen {
namespace {

std::unexpected<Error> damaged(const Entry& entry, std::string_view why) {
  return fail(ErrorCode::journal_damaged,
              fmt::format("entry {} ({}): {}", entry.sequence, entry.type, why));
}

Duration time_at(const Json& body, std::string_view key) {
  return std::chrono::microseconds(int_at(body, key));
}

template <class Id>
Id id_at(const Json& body, std::string_view key) {
  return Id{static_cast<std::uint64_t>(int_at(body, key))};
}

IterationEnd end_at(const Json& body) {
  return parse_iteration_end(text_at(body, "end")).value_or(IterationEnd::interrupted);
}

Origin origin_at(const Json& body) {
  std::string name = text_at(body, "origin");
  if (name == to_string(Origin::fork)) return Origin::fork;
  return name == to_string(Origin::harvest) ? Origin::harvest : Origin::main;
}

RefusalCounts refusals_at(const Json& body) {
  RefusalCounts counts{};
  const Json* refused = member_at(body, "refused");
  for (std::size_t i = 0; refused && i < kRefusals; ++i) {
    counts[i] = static_cast<std::uint64_t>(int_at(*refused, to_string(static_cast<Refusal>(i))));
  }
  return counts;
}

CallOutcome outcome_at(const Json& body) {
  std::string name = text_at(body, "outcome");
  for (CallOutcome outcome : {CallOutcome::ended, CallOutcome::failed}) {
    if (name == to_string(outcome)) return outcome;
  }
  return CallOutcome::cancelled;
}

std::vector<StageSpan> spans_at(const Json& body) {
  std::vector<StageSpan> spans;
  const Json* array = member_at(body, "spans");
  if (!array || !array->is_array()) return spans;
  for (const Json& item : array->get_array()) {
    const auto* words = item.if_array();
    if (!words || words->size() != 5 || !(*words)[0].is_string() || !(*words)[1].is_string()) {
      continue;
    }
    StageSpan span{.device = std::string((*words)[1].get_string())};
    for (Stage stage :
         {Stage::compile, Stage::validate, Stage::profile, Stage::evaluate, Stage::tune}) {
      if (std::string_view((*words)[0].get_string()) == to_string(stage)) span.stage = stage;
    }
    auto time = [&](std::size_t at) {
      const std::int64_t* us = (*words)[at].if_int64();
      return Time(std::chrono::microseconds(us ? *us : 0));
    };
    span.queued = time(2);
    span.started = time(3);
    span.ended = time(4);
    spans.push_back(std::move(span));
  }
  return spans;
}

Speedup speedup_of(const Json& json) {
  return {number_at(json, "median"), number_at(json, "low"), number_at(json, "high")};
}

Values tunables_at(const Json& body) {
  Values values;
  const Json* object = member_at(body, "tunables");
  if (!object || !object->is_object()) return values;
  for (const auto& [name, value] : object->get_object()) {
    if (value.is_int64()) values[std::string(name)] = value.get_int64();
  }
  return values;
}

// What the digest says of one of them. The digest of all is their sum, so that it is kept up to date item by item.
std::uint64_t digest_of(const CandidateState& candidate) {
  TraceHash hash;
  hash.mix(candidate.found.id.value);
  hash.mix(candidate.found.source.sha256);
  hash.mix(candidate.found.iteration.value << 2 |
           static_cast<std::uint64_t>(candidate.found.origin));
  if (const auto& judged = candidate.judged) {
    hash.mix(static_cast<std::uint64_t>(judged->verdict) << 2 |
             static_cast<std::uint64_t>(judged->profiled) << 1 |
             static_cast<std::uint64_t>(judged->withdrawn));
    hash.mix(std::bit_cast<std::uint64_t>(judged->speedup.median));
  }
  if (const auto& tuned = candidate.tuned) {
    hash.mix(tuned->source.sha256);
    hash.mix(std::bit_cast<std::uint64_t>(tuned->speedup.median));
  }
  return hash.value();
}

std::uint64_t digest_of(const IterationState& iteration) {
  TraceHash hash;
  hash.mix(iteration.begun.id.value);
  hash.mix(iteration.ended ? 1 + static_cast<std::uint64_t>(iteration.ended->end) : 0);
  hash.mix(std::uint64_t{iteration.begun.task} << 32 | iteration.feedback);
  return hash.value();
}

}  // namespace

std::vector<StageSpan> CandidateState::spans() const {
  std::vector<StageSpan> all;
  if (judged) all = judged->spans;
  if (tuned) all.insert(all.end(), tuned->spans.begin(), tuned->spans.end());
  return all;
}

SpeedupsSoFar TaskState::so_far() const {
  if (confirmed.empty()) return {};
  return {.mean = sum_of_speedups / static_cast<double>(confirmed.size()), .best = best_speedup};
}

Result<void> RunState::apply(const Entry& entry) {
  // Every entry of a run is read at least once, and few are larger than this.
  std::array<unsigned char, 4096> buffer;
  boost::json::monotonic_resource memory(buffer.data(), buffer.size());
  Json body = TRY(parse_json(entry.body, &memory));
  if (entry.type == "run") return apply_run(entry, body);
  if (!begun()) return damaged(entry, "the first entry must be 'run'");
  if (entry.type == "budgets") {
    apply_budgets(body);
    return {};
  }
  if (entry.type == "iteration") return apply_iteration(entry, body);
  if (entry.type == "iteration-ended") return apply_iteration_ended(entry, body);
  if (entry.type == "call") return apply_call(entry, body);
  if (entry.type == "call-ended") return apply_call_ended(entry, body);
  if (entry.type == "candidate") return apply_candidate(entry, body);
  if (entry.type == "judged") return apply_judged(entry, body);
  if (entry.type == "tuned") return apply_tuned(entry, body);
  if (entry.type == "shadow") return apply_shadow(entry, body);
  if (entry.type == "resumed") {
    apply_resumed(time_at(body, "at_us"));
    return {};
  }
  if (entry.type == "run-ended") {
    ended = text_at(body, "why");
    return {};
  }
  return damaged(entry, "there is no such entry");
}

Result<void> RunState::apply_run(const Entry& entry, const Json& body) {
  if (begun()) return damaged(entry, "a run begins once");
  const Json* list = member_at(body, "tasks");
  if (!list || !list->is_array() || list->get_array().empty()) {
    return damaged(entry, "a run without tasks");
  }
  for (const Json& task : list->get_array()) {
    run.tasks.push_back({.name = text_at(task, "name"),
                         .where = text_at(task, "where"),
                         .backend = text_at(task, "backend")});
  }
  tasks.resize(run.tasks.size());
  run.workflow = text_at(body, "workflow");
  run.criterion = text_at(body, "criterion");
  run.model = text_at(body, "model");
  if (const Json* devices = member_at(body, "devices"); devices && devices->is_array()) {
    for (const Json& device : devices->get_array()) {
      if (device.is_string()) run.devices.emplace_back(device.get_string());
    }
  }
  run.speculate = flag_at(body, "speculate");
  run.seed = static_cast<std::uint64_t>(int_at(body, "seed"));
  apply_budgets(body);
  return {};
}

void RunState::apply_budgets(const Json& body) {
  run.budgets = {.wall = time_at(body, "wall_us"),
                 .tokens = int_at(body, "tokens"),
                 .dollars = number_at(body, "dollars"),
                 .iterations = int_at(body, "iterations")};
}

Result<void> RunState::apply_iteration(const Entry& entry, const Json& body) {
  IterationBegun begun{.id = id_at<IterationId>(body, "id"),
                       .task = static_cast<std::uint32_t>(int_at(body, "task")),
                       .role = text_at(body, "role")};
  if (begun.task >= tasks.size()) return damaged(entry, "there is no such task");
  TaskState& task = tasks[begun.task];
  IterationId id = begun.id;
  if (!iterations.try_emplace(id, IterationState{.begun = std::move(begun)}).second) {
    return damaged(entry, "an iteration begins once");
  }
  if (iterations.at(id).begun.role != kStartRole) task.iterations.push_back(id);
  open_iterations_.insert(id);
  items_digest_ += digest_of(iterations.at(id));
  return {};
}

Result<void> RunState::apply_iteration_ended(const Entry& entry, const Json& body) {
  auto iteration = iterations.find(id_at<IterationId>(body, "id"));
  if (iteration == iterations.end() || iteration->second.ended) {
    return damaged(entry, "an iteration ends once, after it began");
  }
  items_digest_ -= digest_of(iteration->second);
  IterationEnded& its_end = iteration->second.ended.emplace();
  its_end = {.id = iteration->first,
             .end = end_at(body),
             .by = id_at<CandidateId>(body, "by"),
             .tokens = int_at(body, "tokens"),
             .saved_tokens = int_at(body, "saved"),
             .refusals = refusals_at(body),
             .note = text_at(body, "note")};
  tokens.saved += its_end.saved_tokens;
  open_iterations_.erase(its_end.id);
  const IterationBegun& begun = iteration->second.begun;
  const std::vector<CandidateId>& confirmed = tasks[begun.task].confirmed;
  const bool is_first = !confirmed.empty() && confirmed.front() == its_end.by;
  for (ReasoningTotals* totals : {&reasoning, &tasks[begun.task].reasoning}) {
    totals->tokens += its_end.tokens;
    totals->stopped += its_end.end == IterationEnd::stopped && !is_first;
  }
  bool counts = its_end.end != IterationEnd::interrupted && its_end.end != IterationEnd::restarted;
  if (!counts && begun.role != kStartRole) {
    ++tasks[begun.task].uncounted;
  }
  items_digest_ += digest_of(iteration->second);
  return {};
}

Result<void> RunState::apply_call(const Entry& entry, const Json& body) {
  CallSent sent{.id = static_cast<std::uint64_t>(int_at(body, "id")),
                .iteration = id_at<IterationId>(body, "iteration"),
                .purpose = text_at(body, "purpose"),
                .max_tokens = int_at(body, "most")};
  std::uint64_t id = sent.id;
  if (!calls.try_emplace(id, CallState{.sent = std::move(sent)}).second) {
    return damaged(entry, "a call is sent once");
  }
  open_calls_.insert(id);
  return {};
}

Result<void> RunState::apply_call_ended(const Entry& entry, const Json& body) {
  auto call = calls.find(static_cast<std::uint64_t>(int_at(body, "id")));
  if (call == calls.end() || call->second.done) {
    return damaged(entry, "a call ends once, after it was sent");
  }
  CallDone done{.id = call->first,
                .outcome = outcome_at(body),
                .usage = {.prompt_tokens = int_at(body, "prompt"),
                          .cached_tokens = int_at(body, "cached"),
                          .completion_tokens = int_at(body, "completion"),
                          .reasoning_tokens = int_at(body, "reasoning"),
                          .estimated = flag_at(body, "estimated")},
                .dollars = number_at(body, "dollars"),
                .sent = time_at(body, "sent_us"),
                .ended = time_at(body, "ended_us")};
  std::int64_t spent = done.usage.fresh_tokens();
  const std::string& purpose = call->second.sent.purpose;
  (purpose == "main" ? tokens.main : purpose == "fork" ? tokens.forks : tokens.other) += spent;
  dollars += done.dollars;
  last_at = std::max(last_at, done.ended);
  call->second.done = std::move(done);
  open_calls_.erase(call->first);
  return {};
}

Result<void> RunState::apply_candidate(const Entry& entry, const Json& body) {
  CandidateFound found{.id = id_at<CandidateId>(body, "id"),
                       .iteration = id_at<IterationId>(body, "iteration"),
                       .origin = origin_at(body),
                       .source = {text_at(body, "source")},
                       .parent = id_at<CandidateId>(body, "parent"),
                       .trigger = text_at(body, "trigger"),
                       .prefix_tokens = int_at(body, "prefix"),
                       .at = time_at(body, "at_us"),
                       .shadow = flag_at(body, "shadow")};
  auto iteration = iterations.find(found.iteration);
  if (iteration == iterations.end()) return damaged(entry, "there is no such iteration");
  iteration->second.forks += found.origin == Origin::fork;
  iteration->second.harvested += found.origin == Origin::harvest;
  last_at = std::max(last_at, found.at);
  CandidateId id = found.id;
  if (!candidates.try_emplace(id, CandidateState{.found = std::move(found)}).second) {
    return damaged(entry, "a candidate is found once");
  }
  tasks[iteration->second.begun.task].candidates.push_back(id);
  open_candidates_.insert(id);
  items_digest_ += digest_of(candidates.at(id));
  return {};
}

Result<void> RunState::apply_judged(const Entry& entry, const Json& body) {
  auto candidate = candidates.find(id_at<CandidateId>(body, "id"));
  if (candidate == candidates.end() || candidate->second.judged) {
    return damaged(entry, "a candidate is judged once, after it was found");
  }
  CandidateJudged judged{.id = candidate->first,
                         .withdrawn = flag_at(body, "withdrawn"),
                         .repeated = flag_at(body, "repeated"),
                         .evidence = text_at(body, "evidence"),
                         .evaluation = {text_at(body, "evaluation")},
                         .tunables = tunables_at(body),
                         .spans = spans_at(body),
                         .at = time_at(body, "at_us")};
  if (!judged.withdrawn) judged.verdict = TRY(parse_verdict(text_at(body, "verdict")));
  if (const Json* speedup = member_at(body, "speedup")) {
    judged.profiled = true;
    judged.speedup = speedup_of(*speedup);
    judged.peak_fraction = number_at(body, "peak");
  }
  IterationState& iteration = iterations.at(candidate->second.found.iteration);
  TaskState& task = tasks[iteration.begun.task];
  items_digest_ -= digest_of(iteration) + digest_of(candidate->second);
  bool is_used = !candidate->second.found.shadow;
  if (is_used && is_feedback(judged)) {
    ++iteration.feedback;
    task.confirmed.push_back(judged.id);
    task.sum_of_speedups += judged.speedup.median;
    if (judged.speedup.median > task.best_speedup) {
      task.best_speedup = judged.speedup.median;
      task.best = judged.id;
    }
  }
  last_at = std::max(last_at, judged.at);
  candidate->second.judged = std::move(judged);
  items_digest_ += digest_of(iteration) + digest_of(candidate->second);
  open_candidates_.erase(candidate->first);
  return {};
}

Result<void> RunState::apply_tuned(const Entry& entry, const Json& body) {
  auto found = candidates.find(id_at<CandidateId>(body, "id"));
  if (found == candidates.end() || !found->second.judged || !is_feedback(*found->second.judged) ||
      found->second.found.shadow || found->second.tuned) {
    return damaged(entry, "a candidate is tuned once, after its profile was feedback");
  }
  CandidateState& candidate = found->second;
  CandidateTuned tuned{.id = found->first,
                       .peak_fraction = number_at(body, "peak"),
                       .tunables = tunables_at(body),
                       .source = {text_at(body, "source")},
                       .evaluation = {text_at(body, "evaluation")},
                       .spans = spans_at(body),
                       .at = time_at(body, "at_us")};
  if (const Json* speedup = member_at(body, "speedup")) tuned.speedup = speedup_of(*speedup);
  if (!(tuned.speedup.median > candidate.judged->speedup.median)) {
    return damaged(entry, "what is tuned is faster than before");
  }
  TaskState& task = tasks[iterations.at(candidate.found.iteration).begun.task];
  task.sum_of_speedups += tuned.speedup.median - candidate.judged->speedup.median;
  if (tuned.speedup.median > task.best_speedup) {
    task.best_speedup = tuned.speedup.median;
    task.best = tuned.id;
  }
  last_at = std::max(last_at, tuned.at);
  items_digest_ -= digest_of(candidate);
  candidate.tuned = std::move(tuned);
  items_digest_ += digest_of(candidate);
  return {};
}

Result<void> RunState::apply_shadow(const Entry& entry, const Json& body) {
  auto iteration = iterations.find(id_at<IterationId>(body, "iteration"));
  if (iteration == iterations.end() || iteration->second.shadow) {
    return damaged(entry, "an iteration has one shadow, after it began");
  }
  iteration->second.shadow = ShadowEnded{.iteration = iteration->first,
                                         .saved_tokens = int_at(body, "saved_tokens"),
                                         .saved = time_at(body, "saved_us"),
                                         .whole = flag_at(body, "whole")};
  return {};
}

// Calls in flight when the run was killed: their cost is never reported.
void RunState::apply_resumed(Duration at) {
  ++resumptions;
  ended.clear();
  for (std::uint64_t id : open_calls_) tokens.maybe_charged += calls.at(id).sent.max_tokens;
  open_calls_.clear();
  last_at = std::max(last_at, at);
}

std::uint64_t RunState::digest() const {
  TraceHash hash;
  for (const RunTask& task : run.tasks) hash.mix(task.name);
  hash.mix(run.workflow);
  hash.mix(run.seed);
  hash.mix(items_digest_);
  hash.mix(candidates.size());
  hash.mix(iterations.size());
  hash.mix(calls.size());
  hash.mix(open_calls_.size());
  for (std::int64_t count :
       {tokens.main, tokens.forks, tokens.other, tokens.saved, tokens.maybe_charged}) {
    hash.mix(static_cast<std::uint64_t>(count));
  }
  hash.mix(std::bit_cast<std::uint64_t>(dollars));
  hash.mix(resumptions);
  hash.mix(ended);
  return hash.value();
}

std::vector<IterationId> RunState::open_iterations() const {
  return {open_iterations_.begin(), open_iterations_.end()};
}
std::vector<CandidateId> RunState::open_candidates() const {
  return {open_candidates_.begin(), open_candidates_.end()};
}

}  // namespace specgen
