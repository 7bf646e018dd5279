// TaskLab: the best so far is tuned when devices are idle. What wins is written down as a better state of the same
// candidate; in the history it stands a second time, when it became known, so that a resumed run has the same history.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "search/task_lab.h"

namespace specgen {
namespace {

std::string values_text(const Values& values) {
  std::vector<std::string> words;
  for (const auto& [name, value] : values) words.push_back(fmt::format("{} = {}", name, value));
  return join(words, ", ");
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

Values tunables_of(const Json& evaluation) {
  Values values;
  const Json* tunables = member_at(evaluation, "tunables");
  if (!tunables || !tunables->is_object()) return values;
  for (const auto& [name, value] : tunables->get_object()) {
    if (value.is_int64()) values[std::string(name)] = value.get_int64();
  }
  return values;
}

std::vector<StageSpan> TaskLab::since_begun(std::vector<StageSpan> spans) const {
  for (StageSpan& span : spans) {
    for (Time* time : {&span.queued, &span.started, &span.ended}) {
      *time = Time(core_.since_begun(*time));
    }
  }
  return spans;
}

Candidate TaskLab::candidate_of(const CandidateFound& found, std::string source) const {
  return {.id = found.id,
          .task = task().where,
          .backend = task().backend,
          .source = std::move(source),
          .origin = found.origin,
          .iteration = found.iteration,
          .shapes = core_.plan.shapes,
          .model_new = core_.plan.model_new};
}

// Where a candidate is judged in one go, its tunables were swept then and there.
void TaskLab::tune_if_best(CandidateId id, std::string source) {
  bool in_one_go = core_.plan.model_new || task().where.ends_with(".py");
  bool is_best = core_.state.tasks[number_].best == id;
  if (!core_.plan.tune || in_one_go || !is_best || !source.contains("specgen:tune")) return;
  judging_.spawn(tune(id, std::move(source)));
}

Task<void> TaskLab::tune(CandidateId id, std::string source) {
  auto tuned = co_await try_tune(id, std::move(source));
  if (!tuned) core_.fail(tuned.error());
}

Task<Result<void>> TaskLab::try_tune(CandidateId id, std::string source) {
  const CandidateState& candidate = core_.state.candidates.at(id);  // stays where it is
  auto tuned = CO_TRY(co_await core_.parts.pool.tune(
      candidate_of(candidate.found, std::move(source)), candidate.judged->speedup));
  if (!tuned) co_return Result<void>();
  Json evaluation = CO_TRY(parse_json(tuned->judged.evaluation));
  CandidateTuned entry{.id = id,
                       .speedup = tuned->judged.speedup,
                       .peak_fraction = number_at(evaluation, "peak_fraction"),
                       .tunables = std::move(tuned->tunables),
                       .spans = since_begun(std::move(tuned->judged.spans))};
  entry.source = CO_TRY(co_await core_.parts.storage.put(tuned->source));
  entry.evaluation = CO_TRY(co_await core_.parts.storage.put(std::move(tuned->judged.evaluation)));
  entry.at = core_.since_begun();
  CO_TRY(co_await core_.record(to_entry(entry)));
  history_.push_back(tuned_kernel(candidate, std::move(tuned->source), evaluation));
  bool is_best = core_.state.tasks[number_].best == id;
  if (is_best && core_.listener.on_best) core_.listener.on_best(number_, history_.back());
  co_return Result<void>();
}

Task<Result<KnownKernel>> TaskLab::recall_tuned(const CandidateState& candidate) {
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

}  // namespace specgen
