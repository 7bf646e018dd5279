#include "search/tuner.h"

#include <utility>

namespace specgen {

Tuner::Tuner(RunCore& core, std::uint32_t task, OnTuned on_tuned)
    : core_(core), task_(task), on_tuned_(std::move(on_tuned)), tuning_(core.parts.loop) {}

void Tuner::consider(Candidate candidate, const Speedup& confirmed) {
  if (is_worth_tuning(candidate)) tuning_.spawn(tune(std::move(candidate), confirmed));
}

// A candidate that is evaluated in one stage had its tunables swept then.
bool Tuner::is_worth_tuning(const Candidate& candidate) const {
  bool has_one_stage = core_.plan.model_new || candidate.task.ends_with(".py");
  bool is_best = core_.state.tasks[task_].best == candidate.id;
  return core_.plan.tune && !has_one_stage && is_best && candidate.source.contains("specgen:tune");
}

Task<void> Tuner::tune(Candidate candidate, Speedup confirmed) {
  auto tuned = co_await try_tune(std::move(candidate), confirmed);
  if (!tuned) core_.fail(tuned.error());
}

Task<Result<void>> Tuner::try_tune(Candidate candidate, Speedup confirmed) {
  CandidateId id = candidate.id;
  auto tuned = CO_TRY(co_await core_.parts.pool.tune(std::move(candidate), confirmed));
  if (!tuned) co_return Result<void>();
  co_return co_await on_tuned_(id, std::move(*tuned));
}

}  // namespace specgen
