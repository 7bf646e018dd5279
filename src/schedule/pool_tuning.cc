// tune(): a candidate that was judged with its default values is compiled and validated again, its tunables are swept
// against that, and the winner is validated and profiled as a candidate of its own. All of it has the lowest urgency,
// and a failing executor ends it: tuning is optional.

#include "evaluate/candidate/directives.h"
#include "schedule/judgement.h"
#include "schedule/pool_state.h"

namespace specgen {

struct EvaluationPool::State::TuningGuard {
  State& state;
  EvaluationWaiter& waiter;
  ~TuningGuard() { state.leave_tuning(waiter); }
};

Task<Result<std::optional<TunedCandidate>>> EvaluationPool::State::tune(Candidate candidate,
                                                                        Speedup confirmed) {
  SG_ASSERT(opened_, "the pool is not open yet");
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0 || backends_[backend - 1].usable == 0) {
    co_return fail(ErrorCode::device_missing, "no device for backend " + candidate.backend);
  }
  EvaluationWaiter waiter(loop_, candidate);
  waiter.urgency = Urgency::demoted;
  std::uint32_t task = number_of_task(candidate.task);
  auto pending =
      std::make_shared<PendingEvaluation>(PendingEvaluation{.candidate = std::move(candidate),
                                                            .key = {},
                                                            .task = task,
                                                            .backend = backend,
                                                            .is_tuning = true,
                                                            .confirmed = confirmed});
  waiter.pending = pending;
  pending->waiters.push_back(&waiter);
  TuningGuard guard{*this, waiter};
  submit(pending, Stage::compile);
  start_ready_jobs();
  co_await waiter.answered.wait();
  Judged judged = CO_TRY(std::move(*waiter.answer));
  if (judged.withdrawn) co_return std::nullopt;
  co_return TunedCandidate{.source = std::move(pending->candidate.source),
                           .tunables = std::move(pending->tunables),
                           .judged = std::move(judged)};
}

void EvaluationPool::State::leave_tuning(EvaluationWaiter& waiter) {
  if (!waiter.pending) return;  // answered
  PendingPtr pending = std::move(waiter.pending);
  pending->waiters.clear();
  close(*pending);
}

void EvaluationPool::State::end_tuning(PendingEvaluation& pending, Judged judged) {
  close(pending);
  for (EvaluationWaiter* waiter : std::exchange(pending.waiters, {})) answer(*waiter, judged);
}

void EvaluationPool::State::advance_tuning(const PendingPtr& pending, StageOutcome outcome,
                                           std::size_t device) {
  Duration device_time = std::exchange(pending->device_time, {});
  (pending->is_ended ? counters.wasted : counters.useful) += device_time;
  if (pending->is_ended) return;
  if (outcome.verdict != Verdict::ok) return end_tuning(*pending, {.withdrawn = true});
  if (!outcome.program.empty()) {
    pending->program = outcome.program;
    pending->host = static_cast<std::uint32_t>(device_states_[device].host + 1);
  }
  if (pending->stage == Stage::tune) return take_winner(pending, outcome);
  pending->evaluation = outcome.evaluation;
  if (pending->stage == Stage::compile) return submit(pending, Stage::validate);
  if (pending->stage == Stage::validate) {
    pending->screen = outcome.speedup;
    return submit(pending, pending->tunables.empty() ? Stage::tune : Stage::profile);
  }
  if (outcome.speedup.median <= pending->confirmed.median) {
    return end_tuning(*pending, {.withdrawn = true});
  }
  Judged judged = judgement(pending->candidate, Stage::profile, std::move(outcome),
                            devices[device].model, std::move(pending->spans));
  memory_.remember(key_of(pending->candidate, backends_[pending->backend - 1].models), judged);
  end_tuning(*pending, std::move(judged));
}

// From here on the candidate is the source with the winning values as defaults.
void EvaluationPool::State::take_winner(const PendingPtr& pending, const StageOutcome& swept) {
  auto source = with_defaults(pending->candidate.source, swept.tunables);
  bool gains = source && *source != pending->candidate.source &&
               swept.speedup.median > pending->screen.median;
  if (!gains) return end_tuning(*pending, {.withdrawn = true});
  pending->candidate.source = std::move(*source);
  pending->tunables = swept.tunables;
  pending->evaluation = "null";
  submit(pending, Stage::validate);
}

}  // namespace specgen
