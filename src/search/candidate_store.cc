#include "search/candidate_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/json_storage.h"
#include "base/text.h"
#include "evaluate/candidate/directives.h"

namespace specgen {
namespace {

std::string feedback_of(const Json& evaluation, const CandidateJudged& judged) {
  std::string text = text_at(evaluation, "feedback");
  if (!text.empty()) return text;
  return fmt::format("{}: {}", to_string(judged.verdict), judged.evidence);
}

Values tunables_of(const Json& evaluation) {
  Values values;
  const Json* tunables = member_at(evaluation, "tunables");
  if (!tunables || !tunables->is_object()) return values;
  for (const auto& [name, value] : tunables->get_object()) {
    if (value.is_int64()) values[std::string(name)] = value.get_int64();
  }
  return values;
}

std::string values_text(const Values& values) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : values) settings.push_back(fmt::format("{} = {}", name, value));
  return join(settings, ", ");
}

KnownKernel known_kernel(const CandidateFound& found, const CandidateJudged& judged,
                         std::string source, const Json& evaluation) {
  if (auto as_judged = with_defaults(source, judged.tunables)) source = std::move(*as_judged);
  const Json* profile = member_at(evaluation, "profile");
  return {.id = found.id,
          .parent = found.parent,
          .iteration = found.iteration,
          .origin = found.origin,
          .source = std::move(source),
          .verdict = judged.verdict,
          .speedup = judged.speedup,
          .profiled = judged.profiled,
          .feedback = feedback_of(evaluation, judged),
          .profile = judged.profiled && profile ? compact_json(*profile) : "null"};
}

KnownKernel tuned_kernel(const CandidateState& candidate, std::string source,
                         const Json& evaluation) {
  const CandidateTuned& tuned = *candidate.tuned;
  KnownKernel kernel = known_kernel(
      candidate.found,
      {.id = tuned.id, .verdict = Verdict::ok, .speedup = tuned.speedup, .profiled = true},
      std::move(source), evaluation);
  kernel.feedback = fmt::format(
      "The harness has tried the values of its specgen:tune lines: with {} it is {:.3g} times as "
      "fast as the baseline ({:.3g} times as it was written); they stand first now.\n{}",
      values_text(tuned.tunables), tuned.speedup.median, candidate.judged->speedup.median,
      kernel.feedback);
  return kernel;
}

}  // namespace

CandidateStore::CandidateStore(RunCore& core, std::uint32_t task, OnEvaluated on_evaluated)
    : core_(core),
      number_(task),
      on_evaluated_(std::move(on_evaluated)),
      evaluating_(core.parts.loop),
      tuner_(core, task, [this](CandidateId id, TunedCandidate tuned) {
        return record_tuned(id, std::move(tuned));
      }) {}

CandidateId CandidateStore::submit(IterationId iteration, CandidateId parent, FoundKernel kernel) {
  CandidateId id = core_.next_candidate();
  evaluating_.spawn(evaluate_new(
      {.id = id, .iteration = iteration, .parent = parent, .kernel = std::move(kernel)}));
  return id;
}

Task<Result<void>> CandidateStore::evaluate(IterationId iteration, FoundKernel kernel) {
  return record_and_evaluate({.id = core_.next_candidate(),
                              .iteration = iteration,
                              .parent = {},
                              .kernel = std::move(kernel)});
}

const KnownKernel* CandidateStore::find(CandidateId id) const {
  auto kernel = std::ranges::find(history_, id, &KnownKernel::id);
  return kernel == history_.end() ? nullptr : &*kernel;
}

Task<Result<void>> CandidateStore::join() {
  CO_TRY(co_await evaluating_.join());
  co_return co_await tuner_.join();
}

void CandidateStore::cancel() {
  evaluating_.cancel();
  tuner_.cancel();
}

Task<void> CandidateStore::evaluate_new(SubmittedCandidate candidate) {
  auto evaluated = co_await record_and_evaluate(std::move(candidate));
  if (!evaluated) core_.fail(evaluated.error());
}

Task<void> CandidateStore::evaluate_recalled(SubmittedCandidate candidate) {
  auto evaluated = co_await evaluate_recorded(std::move(candidate));
  if (!evaluated) core_.fail(evaluated.error());
}

Task<Result<void>> CandidateStore::record_and_evaluate(SubmittedCandidate candidate) {
  ArtifactId source = CO_TRY(co_await core_.parts.storage.put(candidate.kernel.source));
  CO_TRY(core_.note(to_entry(CandidateFound{.id = candidate.id,
                                            .iteration = candidate.iteration,
                                            .origin = candidate.kernel.origin,
                                            .source = source,
                                            .parent = candidate.parent,
                                            .trigger = candidate.kernel.trigger,
                                            .prefix_tokens = candidate.kernel.prefix_tokens,
                                            .at = core_.since_begun(),
                                            .shadow = candidate.kernel.shadow})));
  co_return co_await evaluate_recorded(std::move(candidate));
}

Task<Result<void>> CandidateStore::evaluate_recorded(SubmittedCandidate candidate) {
  const FoundKernel& kernel = candidate.kernel;
  Judged judged = CO_TRY(co_await core_.parts.pool.evaluate({.id = candidate.id,
                                                             .task = task().where,
                                                             .backend = task().backend,
                                                             .source = kernel.source,
                                                             .origin = kernel.origin,
                                                             .iteration = candidate.iteration,
                                                             .shapes = core_.plan.shapes,
                                                             .model_new = kernel.is_python,
                                                             .shadow = kernel.shadow}));
  CandidateJudged entry{.id = candidate.id,
                        .verdict = judged.verdict,
                        .speedup = judged.speedup,
                        .profiled = judged.profiled,
                        .withdrawn = judged.withdrawn,
                        .repeated = judged.repeated,
                        .evidence = judged.evidence.text};
  boost::json::monotonic_resource memory;
  Json evaluation(&memory);
  if (judged.evaluation != "null") {
    evaluation = CO_TRY(parse_json(judged.evaluation, &memory));
    entry.peak_fraction = number_at(evaluation, "peak_fraction");
    entry.tunables = tunables_of(evaluation);
    entry.evaluation = CO_TRY(co_await core_.parts.storage.put(std::move(judged.evaluation)));
  }
  entry.spans = since_begun(judged.spans);
  entry.at = core_.since_begun();

  const SpeedupsSoFar before = core_.state.tasks[number_].so_far();
  CO_TRY(co_await core_.record(to_entry(entry)));
  if (!judged.withdrawn && !kernel.shadow) {
    const CandidateFound& found = core_.state.candidates.at(candidate.id).found;
    add_to_history(known_kernel(found, entry, kernel.source, evaluation));
    tuner_.consider(candidate_of(found, kernel.source), judged.speedup);
  }
  on_evaluated_({.candidate = candidate,
                 .judged = judged,
                 .peak_fraction = entry.peak_fraction,
                 .before = before,
                 .has_feedback = is_feedback(judged) && !kernel.shadow});
  co_return Result<void>();
}

void CandidateStore::add_to_history(KnownKernel kernel) {
  history_.push_back(std::move(kernel));
  bool is_best = core_.state.tasks[number_].best == history_.back().id;
  if (is_best && core_.listener.on_best) core_.listener.on_best(number_, history_.back());
}

// A tuned candidate is a better state of the same candidate.
Task<Result<void>> CandidateStore::record_tuned(CandidateId id, TunedCandidate tuned) {
  Json evaluation = CO_TRY(parse_json(tuned.judged.evaluation));
  CandidateTuned entry{.id = id,
                       .speedup = tuned.judged.speedup,
                       .peak_fraction = number_at(evaluation, "peak_fraction"),
                       .tunables = std::move(tuned.tunables),
                       .spans = since_begun(std::move(tuned.judged.spans))};
  entry.source = CO_TRY(co_await core_.parts.storage.put(tuned.source));
  entry.evaluation = CO_TRY(co_await core_.parts.storage.put(std::move(tuned.judged.evaluation)));
  entry.at = core_.since_begun();
  CO_TRY(co_await core_.record(to_entry(entry)));
  add_to_history(tuned_kernel(core_.state.candidates.at(id), std::move(tuned.source), evaluation));
  co_return Result<void>();
}

Task<Result<void>> CandidateStore::recall() {
  const TaskState& task_state = core_.state.tasks[number_];
  std::vector<std::tuple<Duration, CandidateId, bool>> known;  // when; whether tuned
  for (CandidateId id : task_state.candidates) {
    const CandidateState& candidate = core_.state.candidates.at(id);
    if (!candidate.judged) {
      std::string source = CO_TRY(co_await core_.parts.storage.get(candidate.found.source));
      evaluating_.spawn(evaluate_recalled(
          {.id = id,
           .iteration = candidate.found.iteration,
           .parent = candidate.found.parent,
           .kernel = {.source = std::move(source),
                      .origin = candidate.found.origin,
                      .is_python = task().where.ends_with(".py") && core_.plan.model_new,
                      .shadow = candidate.found.shadow}}));
    } else if (!candidate.judged->withdrawn && !candidate.found.shadow) {
      known.push_back({candidate.judged->at, id, false});
      if (candidate.tuned) known.push_back({candidate.tuned->at, id, true});
    }
  }
  std::ranges::sort(known);
  for (const auto& [_, id, is_tuned] : known) {
    const CandidateState& candidate = core_.state.candidates.at(id);
    history_.push_back(
        CO_TRY(co_await (is_tuned ? recall_tuned(candidate) : recall_kernel(candidate))));
    if (candidate.tuned) continue;
    std::string source = CO_TRY(co_await core_.parts.storage.get(candidate.found.source));
    tuner_.consider(candidate_of(candidate.found, std::move(source)), candidate.judged->speedup);
  }
  co_return Result<void>();
}

Task<Result<KnownKernel>> CandidateStore::recall_kernel(const CandidateState& candidate) {
  const CandidateJudged& judged = *candidate.judged;
  std::string source = CO_TRY(co_await core_.parts.storage.get(candidate.found.source));
  std::string text = "null";
  if (!judged.evaluation.sha256.empty()) {
    text = CO_TRY(co_await core_.parts.storage.get(judged.evaluation));
  }
  Json evaluation = CO_TRY(parse_json(text));
  core_.parts.pool.remember(candidate_of(candidate.found, source),
                            {.verdict = judged.verdict,
                             .evidence = {.text = judged.evidence},
                             .speedup = judged.speedup,
                             .profiled = judged.profiled,
                             .evaluation = text,
                             .feedback = feedback_of(evaluation, judged)});
  co_return known_kernel(candidate.found, judged, std::move(source), evaluation);
}

Task<Result<KnownKernel>> CandidateStore::recall_tuned(const CandidateState& candidate) {
  const CandidateTuned& tuned = *candidate.tuned;
  std::string source = CO_TRY(co_await core_.parts.storage.get(tuned.source));
  std::string text = CO_TRY(co_await core_.parts.storage.get(tuned.evaluation));
  Json evaluation = CO_TRY(parse_json(text));
  core_.parts.pool.remember(candidate_of(candidate.found, source),
                            {.verdict = Verdict::ok,
                             .speedup = tuned.speedup,
                             .profiled = true,
                             .evaluation = text,
                             .feedback = text_at(evaluation, "feedback")});
  co_return tuned_kernel(candidate, std::move(source), evaluation);
}

Candidate CandidateStore::candidate_of(const CandidateFound& found, std::string source) const {
  return {.id = found.id,
          .task = task().where,
          .backend = task().backend,
          .source = std::move(source),
          .origin = found.origin,
          .iteration = found.iteration,
          .shapes = core_.plan.shapes,
          .model_new = core_.plan.model_new};
}

std::vector<StageSpan> CandidateStore::since_begun(std::vector<StageSpan> spans) const {
  for (StageSpan& span : spans) {
    for (Time* time : {&span.queued, &span.started, &span.ended}) {
      *time = Time(core_.since_begun(*time));
    }
  }
  return spans;
}

}  // namespace specgen
