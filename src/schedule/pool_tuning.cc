// The second way of a candidate: judged with its defaults before, it is compiled and validated again, its tunables are
// swept against that, and what wins is validated and profiled as a candidate of its own. All of it waits behind what
// somebody waits for, and an executor that dies on the way ends it: it is only a chance.

#include "evaluate/candidate/directives.h"
#include "schedule/judgement.h"
#include "schedule/pool_state.h"

namespace specgen {

struct EvaluationPool::State::TuningGuard {
  State& state;
  Interest& interest;
  ~TuningGuard() { state.leave_tuning(interest); }
};

Task<Result<std::optional<TunedCandidate>>> EvaluationPool::State::tune(Candidate candidate,
                                                                        Speedup confirmed) {
  SG_ASSERT(opened_, "candidates come before the pool is open");
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0 || backends_[backend - 1].usable == 0) {
    co_return fail(ErrorCode::device_missing, "there is no device for " + candidate.backend);
  }
  Interest interest(loop_, candidate);
  interest.urgency = Urgency::demoted;
  std::uint32_t task = number_of_task(candidate.task);
  auto flight = std::make_shared<Flight>(Flight{.candidate = std::move(candidate),
                                                .key = {},
                                                .task = task,
                                                .backend = backend,
                                                .is_tuning = true,
                                                .confirmed = confirmed});
  interest.flight = flight;
  flight->interests.push_back(&interest);
  TuningGuard guard{*this, interest};
  submit(flight, Stage::compile);
  start_what_can();
  co_await interest.answered.wait();
  Judged judged = CO_TRY(std::move(*interest.answer));
  if (judged.withdrawn) co_return std::nullopt;
  co_return TunedCandidate{.source = std::move(flight->candidate.source),
                           .tunables = std::move(flight->tunables),
                           .judged = std::move(judged)};
}

void EvaluationPool::State::leave_tuning(Interest& interest) {
  if (!interest.flight) return;  // answered
  FlightPtr flight = std::move(interest.flight);
  flight->interests.clear();
  close(*flight);
}

void EvaluationPool::State::end_tuning(Flight& flight, Judged judged) {
  close(flight);
  for (Interest* interest : std::exchange(flight.interests, {})) answer(*interest, judged);
}

void EvaluationPool::State::advance_tuning(const FlightPtr& flight, StageOutcome outcome,
                                           std::size_t device) {
  Duration device_time = std::exchange(flight->device_time, {});
  (flight->is_ended ? counters.wasted : counters.useful) += device_time;
  if (flight->is_ended) return;
  if (outcome.verdict != Verdict::ok) return end_tuning(*flight, {.withdrawn = true});
  if (!outcome.program.empty()) {
    flight->program = outcome.program;
    flight->host = static_cast<std::uint32_t>(device_states_[device].host + 1);
  }
  if (flight->stage == Stage::tune) return take_winner(flight, outcome);
  flight->evaluation = outcome.evaluation;
  if (flight->stage == Stage::compile) return submit(flight, Stage::validate);
  if (flight->stage == Stage::validate) {
    flight->screen = outcome.speedup;
    return submit(flight, flight->tunables.empty() ? Stage::tune : Stage::profile);
  }
  if (outcome.speedup.median <= flight->confirmed.median) {
    return end_tuning(*flight, {.withdrawn = true});
  }
  Judged judged = judgement(flight->candidate, Stage::profile, std::move(outcome),
                            devices[device].model, std::move(flight->spans));
  memory_.remember(key_of(flight->candidate, backends_[flight->backend - 1].models), judged);
  end_tuning(*flight, std::move(judged));
}

// From here on the candidate is the source with other defaults: wherever it is compiled again, that is compiled.
void EvaluationPool::State::take_winner(const FlightPtr& flight, const StageOutcome& swept) {
  auto source = with_defaults(flight->candidate.source, swept.tunables);
  bool gains =
      source && *source != flight->candidate.source && swept.speedup.median > flight->screen.median;
  if (!gains) return end_tuning(*flight, {.withdrawn = true});
  flight->candidate.source = std::move(*source);
  flight->tunables = swept.tunables;
  flight->evaluation = "null";
  submit(flight, Stage::validate);
}

}  // namespace specgen
