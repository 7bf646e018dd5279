#include "schedule/evaluation_pool.h"

#include <fmt/core.h>

#include "runtime/race.h"
#include "schedule/judgement.h"
#include "schedule/pool_state.h"

namespace specgen {
namespace {

// No candidate can help these, and no other device: they are told to whoever asked.
bool is_final(const Error& error) {
  switch (error.code) {
    case ErrorCode::bad_task:
    case ErrorCode::bad_expression:
    case ErrorCode::bad_usage:
    case ErrorCode::bad_config:
    case ErrorCode::file_not_found:
    case ErrorCode::tool_missing:
    case ErrorCode::sandbox_missing:
      return true;
    default:
      return false;
  }
}

bool is_python(const std::string& task) {
  return task.ends_with(".py");
}

Stage first_stage(const Candidate& candidate) {
  bool in_one_go = candidate.model_new || is_python(candidate.task);
  return in_one_go ? Stage::evaluate : Stage::compile;
}

std::optional<Stage> stage_after(Stage stage) {
  if (stage == Stage::compile) return Stage::validate;
  if (stage == Stage::validate) return Stage::profile;
  return std::nullopt;
}

}  // namespace

EvaluationPool::State::State(EvaluationPool& pool, Loop& loop, const std::vector<Host*>& hosts,
                             PoolSettings settings)
    : pool_(pool),
      loop_(loop),
      settings_(settings),
      scheduler_(settings.scheduler),
      memory_(settings.remembered_verdicts),
      idle_changed_(loop),
      work_(loop) {
  for (Host* host : hosts) hosts_.emplace_back(loop, *host);
}

struct EvaluationPool::State::InterestGuard {
  State& state;
  Interest& interest;
  ~InterestGuard() { state.leave(interest); }
};

Task<Result<Judged>> EvaluationPool::State::evaluate(Candidate candidate) {
  SG_ASSERT(opened_, "candidates come before the pool is open");
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0 || backends_[backend - 1].usable == 0) {
    co_return fail(ErrorCode::device_missing, "there is no device for " + candidate.backend);
  }
  std::string key = key_of(candidate, backends_[backend - 1].models);
  if (const Judged* known = memory_.find(key)) {
    ++counters.repeated;
    Judged judged = *known;
    judged.repeated = true;
    tell(CandidateEnded{candidate.id, judged.verdict});
    co_return judged;
  }
  Interest interest(loop_, candidate);
  join(interest, std::move(candidate), std::move(key), backend);
  InterestGuard guard{*this, interest};
  start_what_can();
  co_await interest.answered.wait();
  co_return std::move(*interest.answer);
}

void EvaluationPool::State::join(Interest& interest, Candidate candidate, std::string key,
                                 std::uint32_t backend) {
  if (interest.urgency != Urgency::main) speculation_[interest.iteration].push_back(&interest);
  FlightPtr& flight = flights_[key];
  bool is_new = !flight;
  if (is_new) {
    std::uint32_t task = number_of_task(candidate.task);
    flight = std::make_shared<Flight>(Flight{.candidate = std::move(candidate),
                                             .key = std::move(key),
                                             .task = task,
                                             .backend = backend});
  }
  interest.flight = flight;
  flight->interests.push_back(&interest);
  if (is_new) {
    submit(flight, first_stage(flight->candidate));
  } else {
    set_urgency(*flight);
  }
}

// The end of an interest, answered or not. What nobody wants and has not started is withdrawn.
void EvaluationPool::State::leave(Interest& interest) {
  if (auto found = speculation_.find(interest.iteration); found != speculation_.end()) {
    std::erase(found->second, &interest);
    if (found->second.empty()) speculation_.erase(found);
  }
  if (!interest.flight) return;
  FlightPtr flight = std::move(interest.flight);
  std::erase(flight->interests, &interest);
  bool leads = interest.candidate == flight->candidate.id;
  if (!leads) tell(CandidateEnded{interest.candidate, Verdict::harness_error, true});
  ++counters.withdrawn;
  if (flight->interests.empty() && !flight->is_running) {
    withdraw(*flight);
  } else {
    set_urgency(*flight);
  }
}

void EvaluationPool::State::set_urgency(Flight& flight) {
  if (!flight.is_running && !flight.interests.empty()) {
    scheduler_.set_urgency(flight.job, flight.urgency());
  }
}

void EvaluationPool::State::end_iteration(IterationId iteration) {
  auto found = speculation_.find(iteration);
  if (found == speculation_.end()) return;
  std::vector<Interest*> left = std::move(found->second);
  speculation_.erase(found);
  for (Interest* interest : left) {
    interest->urgency = Urgency::demoted;
    interest->is_over = settings_.after_iteration == PoolSettings::AfterIteration::withdraw;
    FlightPtr flight = interest->flight;
    if (!flight) continue;  // answered: its evaluate() is about to go on
    if (!flight->is_running && !flight->is_wanted()) {
      withdraw(*flight);
    } else {
      set_urgency(*flight);
    }
  }
  start_what_can();
}

void EvaluationPool::State::remember(const Candidate& candidate, const Judged& judged) {
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0) return;
  memory_.remember(key_of(candidate, backends_[backend - 1].models), judged);
}

std::uint32_t EvaluationPool::State::number_of_task(const std::string& task) {
  return tasks_.try_emplace(task, static_cast<std::uint32_t>(tasks_.size() + 1)).first->second;
}

void EvaluationPool::State::submit(const FlightPtr& flight, Stage stage) {
  flight->stage = stage;
  flight->job = job_ids_.next();
  flight->queued = loop_.now();
  jobs_.emplace(flight->job, flight);
  tell(StageQueued{flight->candidate.id, stage});
  scheduler_.submit({.id = flight->job,
                     .stage = stage,
                     .urgency = flight->urgency(),
                     .task = flight->task,
                     .backend = flight->backend,
                     .host = flight->host},
                    flight->queued);
}

void EvaluationPool::State::start_what_can() {
  while (auto start = scheduler_.next(loop_.now())) {
    FlightPtr flight = jobs_.at(start->job);
    std::size_t device = start->device.value - 1;
    DeviceState& state = device_states_[device];
    flight->is_running = true;
    state.is_running = true;
    state.idle_stamp = 0;
    if (Role role = scheduler_.role_of(start->device); role != state.role) {
      state.role = role;
      tell(RoleChanged{start->device, role});
    }
    tell(StageStarted{flight->candidate.id, flight->stage, start->device});
    work_.spawn(run(std::move(flight), *start));
  }
  auto when = scheduler_.review_at();
  if (!when || (review_at_ && *review_at_ <= *when)) return;
  review_at_ = when;
  work_.spawn(review(*when));
}

Task<void> EvaluationPool::State::review(Time when) {
  co_await loop_.sleep_until(when);
  if (review_at_ == when) review_at_.reset();
  start_what_can();
}

// One stage of one candidate on the device that it has for itself.
Task<void> EvaluationPool::State::run(FlightPtr flight, Start start) {
  const std::size_t device = start.device.value - 1;
  if (start.switching > Duration::zero()) co_await loop_.sleep(start.switching);
  device_states_[device].is_offered = false;  // the host has to have taken it back for the job
  const Time started = loop_.now();
  const Duration limit =
      flight->stage == Stage::compile ? settings_.compile_limit : settings_.device_limit;
  auto outcome = co_await with_timeout(
      loop_, limit, perform(*flight, device_states_[device], devices[device].name),
      devices[device].name);
  if (outcome && outcome->verdict == Verdict::harness_error) {
    outcome = fail(ErrorCode::harness_failed, outcome->evidence.text);  // it was not judged
  }
  const bool has_failed = !outcome && !is_final(outcome.error());
  stage_ended(*flight, device, started, !has_failed);
  if (has_failed) {
    fence(device, flight->candidate.task);
    retry(flight, outcome.error(), device);
  } else if (!outcome) {
    finish(*flight, std::unexpected(outcome.error()));
  } else {
    advance(flight, std::move(*outcome), device);
  }
  start_what_can();
  if (!device_states_[device].is_running) became_idle(device);
}

Task<Result<StageOutcome>> EvaluationPool::State::perform(const Flight& flight,
                                                          const DeviceState& device,
                                                          const std::string& name) {
  return hosts_[device.host].client.perform({.stage = flight.stage,
                                             .device = name,
                                             .candidate = &flight.candidate,
                                             .program = flight.program,
                                             .screen = flight.screen,
                                             .evaluation = flight.evaluation});
}

void EvaluationPool::State::stage_ended(Flight& flight, std::size_t device, Time started,
                                        bool useful) {
  const Time now = loop_.now();
  DeviceState& state = device_states_[device];
  state.is_running = false;
  flight.is_running = false;
  jobs_.erase(flight.job);
  scheduler_.ended(flight.job, now, useful);
  if (useful) state.failures = 0;
  if (!devices[device].is_lane) {
    (useful ? flight.device_time : counters.wasted) += now - started;
  }
  flight.spans.push_back({.stage = flight.stage,
                          .device = devices[device].name,
                          .queued = flight.queued,
                          .started = started,
                          .ended = now});
  tell(StageEnded{flight.candidate.id, flight.stage, id_of(device), useful});
}

void EvaluationPool::State::advance(const FlightPtr& flight, StageOutcome outcome,
                                    std::size_t device) {
  if (flight->is_tuning) return advance_tuning(flight, std::move(outcome), device);
  if (!outcome.program.empty()) {
    flight->program = outcome.program;
    flight->host = static_cast<std::uint32_t>(device_states_[device].host + 1);
  }
  if (flight->stage == Stage::validate) flight->screen = outcome.speedup;
  flight->evaluation = outcome.evaluation;
  auto next = stage_after(flight->stage);
  if (outcome.verdict != Verdict::ok || !next) {
    return finish(*flight, judgement(flight->candidate, flight->stage, std::move(outcome),
                                     devices[device].model, std::move(flight->spans)));
  }
  if (flight->is_ended) return;
  if (!flight->is_wanted()) return withdraw(*flight);
  submit(flight, *next);
}

// The executor is to blame, until as many have died of this candidate as it may cost.
void EvaluationPool::State::retry(const FlightPtr& flight, const Error& error, std::size_t device) {
  if (flight->is_ended) return;
  if (flight->is_tuning) return end_tuning(*flight, {.withdrawn = true});  // it is only a chance
  if (!flight->is_wanted()) return withdraw(*flight);
  if (++flight->attempts < settings_.max_attempts) return submit(flight, flight->stage);
  StageOutcome outcome{.verdict = Verdict::harness_error,
                       .evidence = {.text = fmt::format("it was given up after {} attempts: {}",
                                                        flight->attempts, error.context)}};
  finish(*flight, judgement(flight->candidate, flight->stage, std::move(outcome),
                            devices[device].model, std::move(flight->spans)));
}

void EvaluationPool::State::finish(Flight& flight, const Result<Judged>& result) {
  if (flight.is_ended) return;
  if (flight.is_tuning) return end_tuning(flight, {.withdrawn = true});
  bool is_judged = result && result->verdict != Verdict::harness_error;
  (is_judged ? counters.useful : counters.wasted) += flight.device_time;
  if (result) {
    ++counters.judged;
    memory_.remember(flight.key, *result);
  }
  close(flight);
  const bool was_left = std::ranges::none_of(flight.interests, [&](const Interest* each) {
    return each->candidate == flight.candidate.id;
  });
  const Verdict verdict = result ? result->verdict : Verdict::harness_error;
  tell(CandidateEnded{flight.candidate.id, verdict, was_left});
  for (Interest* interest : std::exchange(flight.interests, {})) {
    bool leads = interest->candidate == flight.candidate.id;
    Result<Judged> its = result;
    if (!leads) {
      ++counters.repeated;
      if (its) its->repeated = true;
      if (its) its->spans.clear();
      tell(CandidateEnded{interest->candidate, verdict});
    }
    answer(*interest, std::move(its));
  }
}

// Of a flight that does not run.
void EvaluationPool::State::withdraw(Flight& flight) {
  if (flight.is_ended) return;
  counters.wasted += flight.device_time;
  close(flight);
  tell(CandidateEnded{flight.candidate.id, Verdict::harness_error, true});
  for (Interest* interest : std::exchange(flight.interests, {})) {
    ++counters.withdrawn;
    if (interest->candidate != flight.candidate.id) {
      tell(CandidateEnded{interest->candidate, Verdict::harness_error, true});
    }
    answer(*interest, Judged{.withdrawn = true});
  }
}

void EvaluationPool::State::close(Flight& flight) {
  flight.is_ended = true;
  FlightPtr keep;  // the maps may be the last to hold it
  if (auto found = flights_.find(flight.key);
      found != flights_.end() && found->second.get() == &flight) {
    keep = std::move(found->second);
    flights_.erase(found);
  }
  if (!flight.is_running && scheduler_.withdraw(flight.job)) jobs_.erase(flight.job);
}

void EvaluationPool::State::answer(Interest& interest, Result<Judged> result) {
  interest.flight.reset();
  interest.answer = std::move(result);
  interest.answered.set();
}

Duration EvaluationPool::State::device_time() const {
  if (!opened_) return {};
  auto count = std::ranges::count_if(devices, [](const PoolDevice& each) { return !each.is_lane; });
  return (loop_.now() - *opened_) * count;
}

EvaluationPool::EvaluationPool(Loop& loop, std::vector<Host*> hosts, PoolSettings settings)
    : state_(std::make_unique<State>(*this, loop, hosts, settings)) {}
EvaluationPool::~EvaluationPool() = default;

Task<Result<void>> EvaluationPool::open() {
  return state_->open();
}
Task<Result<Judged>> EvaluationPool::evaluate(Candidate candidate) {
  return state_->evaluate(std::move(candidate));
}
Task<Result<std::optional<TunedCandidate>>> EvaluationPool::tune(Candidate candidate,
                                                                 Speedup confirmed) {
  return state_->tune(std::move(candidate), confirmed);
}
void EvaluationPool::prepare(const std::vector<TaskToCome>& tasks) {
  state_->prepare(tasks);
}
void EvaluationPool::end_iteration(IterationId iteration) {
  state_->end_iteration(iteration);
}
void EvaluationPool::remember(const Candidate& candidate, const Judged& judged) {
  state_->remember(candidate, judged);
}
PoolLoad EvaluationPool::load() const {
  return state_->load();
}
const PoolCounters& EvaluationPool::counters() const {
  return state_->counters;
}
std::span<const PoolDevice> EvaluationPool::devices() const {
  return state_->devices;
}
Duration EvaluationPool::device_time() const {
  return state_->device_time();
}

}  // namespace specgen
