#include "schedule/evaluation_pool.h"

#include <fmt/core.h>

#include "runtime/race.h"
#include "schedule/judgement.h"
#include "schedule/pool_state.h"

namespace specgen {
namespace {

// Errors that neither another candidate nor another device would avoid: evaluate() returns them.
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

struct EvaluationPool::State::WaiterGuard {
  State& state;
  EvaluationWaiter& waiter;
  ~WaiterGuard() { state.leave(waiter); }
};

Task<Result<Judged>> EvaluationPool::State::evaluate(Candidate candidate) {
  SG_ASSERT(opened_, "the pool is not open yet");
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0 || backends_[backend - 1].usable == 0) {
    co_return fail(ErrorCode::device_missing, "no device for backend " + candidate.backend);
  }
  std::string key = key_of(candidate, backends_[backend - 1].models);
  if (const Judged* known = memory_.find(key)) {
    ++counters.repeated;
    Judged judged = *known;
    judged.repeated = true;
    notify(CandidateEnded{candidate.id, judged.verdict});
    co_return judged;
  }
  EvaluationWaiter waiter(loop_, candidate);
  join(waiter, std::move(candidate), std::move(key), backend);
  WaiterGuard guard{*this, waiter};
  start_ready_jobs();
  co_await waiter.answered.wait();
  co_return std::move(*waiter.answer);
}

void EvaluationPool::State::join(EvaluationWaiter& waiter, Candidate candidate, std::string key,
                                 std::uint32_t backend) {
  if (waiter.urgency != Urgency::main) speculation_[waiter.iteration].push_back(&waiter);
  PendingPtr& pending = pending_[key];
  bool is_new = !pending;
  if (is_new) {
    std::uint32_t task = number_of_task(candidate.task);
    pending =
        std::make_shared<PendingEvaluation>(PendingEvaluation{.candidate = std::move(candidate),
                                                              .key = std::move(key),
                                                              .task = task,
                                                              .backend = backend});
  }
  waiter.pending = pending;
  pending->waiters.push_back(&waiter);
  if (is_new) {
    submit(pending, first_stage(pending->candidate));
  } else {
    set_urgency(*pending);
  }
}

// evaluate() ends, with an answer or without. A queued evaluation without waiters is withdrawn.
void EvaluationPool::State::leave(EvaluationWaiter& waiter) {
  if (auto found = speculation_.find(waiter.iteration); found != speculation_.end()) {
    std::erase(found->second, &waiter);
    if (found->second.empty()) speculation_.erase(found);
  }
  if (!waiter.pending) return;
  PendingPtr pending = std::move(waiter.pending);
  std::erase(pending->waiters, &waiter);
  bool leads = waiter.candidate == pending->candidate.id;
  if (!leads) notify(CandidateEnded{waiter.candidate, Verdict::harness_error, true});
  ++counters.withdrawn;
  if (pending->waiters.empty() && !pending->is_running) {
    withdraw(*pending);
  } else {
    set_urgency(*pending);
  }
}

void EvaluationPool::State::set_urgency(PendingEvaluation& pending) {
  if (!pending.is_running && !pending.waiters.empty()) {
    scheduler_.set_urgency(pending.job, pending.urgency());
  }
}

void EvaluationPool::State::end_iteration(IterationId iteration) {
  auto found = speculation_.find(iteration);
  if (found == speculation_.end()) return;
  std::vector<EvaluationWaiter*> left = std::move(found->second);
  speculation_.erase(found);
  for (EvaluationWaiter* waiter : left) {
    waiter->urgency = Urgency::demoted;
    waiter->is_over = settings_.after_iteration == PoolSettings::AfterIteration::withdraw;
    PendingPtr pending = waiter->pending;
    if (!pending) continue;  // answered: its evaluate() is about to resume
    if (!pending->is_running && !pending->is_wanted()) {
      withdraw(*pending);
    } else {
      set_urgency(*pending);
    }
  }
  start_ready_jobs();
}

void EvaluationPool::State::remember(const Candidate& candidate, const Judged& judged) {
  std::uint32_t backend = number_of_backend(candidate.backend);
  if (backend == 0) return;
  memory_.remember(key_of(candidate, backends_[backend - 1].models), judged);
}

std::uint32_t EvaluationPool::State::number_of_task(const std::string& task) {
  return tasks_.try_emplace(task, static_cast<std::uint32_t>(tasks_.size() + 1)).first->second;
}

void EvaluationPool::State::submit(const PendingPtr& pending, Stage stage) {
  pending->stage = stage;
  pending->job = job_ids_.next();
  pending->queued = loop_.now();
  jobs_.emplace(pending->job, pending);
  notify(StageQueued{pending->candidate.id, stage});
  scheduler_.submit({.id = pending->job,
                     .stage = stage,
                     .urgency = pending->urgency(),
                     .task = pending->task,
                     .backend = pending->backend,
                     .host = pending->host},
                    pending->queued);
}

void EvaluationPool::State::start_ready_jobs() {
  while (auto start = scheduler_.next(loop_.now())) {
    PendingPtr pending = jobs_.at(start->job);
    std::size_t device = start->device.value - 1;
    DeviceState& state = device_states_[device];
    pending->is_running = true;
    state.is_running = true;
    state.idle_stamp = 0;
    if (Role role = scheduler_.role_of(start->device); role != state.role) {
      state.role = role;
      notify(RoleChanged{start->device, role});
    }
    notify(StageStarted{pending->candidate.id, pending->stage, start->device});
    work_.spawn(run(std::move(pending), *start));
  }
  auto when = scheduler_.review_at();
  if (!when || (review_at_ && *review_at_ <= *when)) return;
  review_at_ = when;
  work_.spawn(review(*when));
}

Task<void> EvaluationPool::State::review(Time when) {
  co_await loop_.sleep_until(when);
  if (review_at_ == when) review_at_.reset();
  start_ready_jobs();
}

// Runs one stage of one candidate on its device.
Task<void> EvaluationPool::State::run(PendingPtr pending, Start start) {
  const std::size_t device = start.device.value - 1;
  if (start.switching > Duration::zero()) co_await loop_.sleep(start.switching);
  device_states_[device].is_offered = false;  // the host takes the memory back for the job
  const Time started = loop_.now();
  const Duration limit =
      pending->stage == Stage::compile ? settings_.compile_limit : settings_.device_limit;
  auto outcome = co_await with_timeout(
      loop_, limit, perform(*pending, device_states_[device], devices[device].name),
      devices[device].name);
  if (outcome && outcome->verdict == Verdict::harness_error) {
    outcome = fail(ErrorCode::harness_failed,
                   outcome->evidence.text);  // not a verdict about the candidate
  }
  const bool has_failed = !outcome && !is_final(outcome.error());
  stage_ended(*pending, device, started, !has_failed);
  if (has_failed) {
    fence(device, pending->candidate.task);
    retry(pending, outcome.error(), device);
  } else if (!outcome) {
    finish(*pending, std::unexpected(outcome.error()));
  } else {
    advance(pending, std::move(*outcome), device);
  }
  start_ready_jobs();
  if (!device_states_[device].is_running) became_idle(device);
}

Task<Result<StageOutcome>> EvaluationPool::State::perform(const PendingEvaluation& pending,
                                                          const DeviceState& device,
                                                          const std::string& name) {
  return hosts_[device.host].client.perform({.stage = pending.stage,
                                             .device = name,
                                             .candidate = &pending.candidate,
                                             .program = pending.program,
                                             .screen = pending.screen,
                                             .evaluation = pending.evaluation});
}

void EvaluationPool::State::stage_ended(PendingEvaluation& pending, std::size_t device,
                                        Time started, bool useful) {
  const Time now = loop_.now();
  DeviceState& state = device_states_[device];
  state.is_running = false;
  pending.is_running = false;
  jobs_.erase(pending.job);
  scheduler_.ended(pending.job, now, useful);
  if (useful) state.failures = 0;
  if (!devices[device].is_compile_slot) {
    (useful ? pending.device_time : counters.wasted) += now - started;
  }
  pending.spans.push_back({.stage = pending.stage,
                           .device = devices[device].name,
                           .queued = pending.queued,
                           .started = started,
                           .ended = now});
  notify(StageEnded{pending.candidate.id, pending.stage, id_of(device), useful});
}

void EvaluationPool::State::advance(const PendingPtr& pending, StageOutcome outcome,
                                    std::size_t device) {
  if (pending->is_tuning) return advance_tuning(pending, std::move(outcome), device);
  if (!outcome.program.empty()) {
    pending->program = outcome.program;
    pending->host = static_cast<std::uint32_t>(device_states_[device].host + 1);
  }
  if (pending->stage == Stage::validate) pending->screen = outcome.speedup;
  pending->evaluation = outcome.evaluation;
  auto next = stage_after(pending->stage);
  if (outcome.verdict != Verdict::ok || !next) {
    return finish(*pending, judgement(pending->candidate, pending->stage, std::move(outcome),
                                      devices[device].model, std::move(pending->spans)));
  }
  if (pending->is_ended) return;
  if (!pending->is_wanted()) return withdraw(*pending);
  submit(pending, *next);
}

// An executor failed: repeats the stage, unless this candidate has brought down max_attempts executors.
void EvaluationPool::State::retry(const PendingPtr& pending, const Error& error,
                                  std::size_t device) {
  if (pending->is_ended) return;
  if (pending->is_tuning) return end_tuning(*pending, {.withdrawn = true});  // tuning is optional
  if (!pending->is_wanted()) return withdraw(*pending);
  if (++pending->attempts < settings_.max_attempts) return submit(pending, pending->stage);
  StageOutcome outcome{.verdict = Verdict::harness_error,
                       .evidence = {.text = fmt::format("abandoned after {} attempts: {}",
                                                        pending->attempts, error.context)}};
  finish(*pending, judgement(pending->candidate, pending->stage, std::move(outcome),
                             devices[device].model, std::move(pending->spans)));
}

void EvaluationPool::State::finish(PendingEvaluation& pending, const Result<Judged>& result) {
  if (pending.is_ended) return;
  if (pending.is_tuning) return end_tuning(pending, {.withdrawn = true});
  bool is_judged = result && result->verdict != Verdict::harness_error;
  (is_judged ? counters.useful : counters.wasted) += pending.device_time;
  if (result) {
    ++counters.judged;
    memory_.remember(pending.key, *result);
  }
  close(pending);
  const bool was_left = std::ranges::none_of(pending.waiters, [&](const EvaluationWaiter* each) {
    return each->candidate == pending.candidate.id;
  });
  const Verdict verdict = result ? result->verdict : Verdict::harness_error;
  notify(CandidateEnded{pending.candidate.id, verdict, was_left});
  for (EvaluationWaiter* waiter : std::exchange(pending.waiters, {})) {
    bool leads = waiter->candidate == pending.candidate.id;
    Result<Judged> its = result;
    if (!leads) {
      ++counters.repeated;
      if (its) its->repeated = true;
      if (its) its->spans.clear();
      notify(CandidateEnded{waiter->candidate, verdict});
    }
    answer(*waiter, std::move(its));
  }
}

// The evaluation must not be running.
void EvaluationPool::State::withdraw(PendingEvaluation& pending) {
  if (pending.is_ended) return;
  counters.wasted += pending.device_time;
  close(pending);
  notify(CandidateEnded{pending.candidate.id, Verdict::harness_error, true});
  for (EvaluationWaiter* waiter : std::exchange(pending.waiters, {})) {
    ++counters.withdrawn;
    if (waiter->candidate != pending.candidate.id) {
      notify(CandidateEnded{waiter->candidate, Verdict::harness_error, true});
    }
    answer(*waiter, Judged{.withdrawn = true});
  }
}

void EvaluationPool::State::close(PendingEvaluation& pending) {
  pending.is_ended = true;
  PendingPtr keep;  // the map may hold the last reference
  if (auto found = pending_.find(pending.key);
      found != pending_.end() && found->second.get() == &pending) {
    keep = std::move(found->second);
    pending_.erase(found);
  }
  if (!pending.is_running && scheduler_.withdraw(pending.job)) jobs_.erase(pending.job);
}

void EvaluationPool::State::answer(EvaluationWaiter& waiter, Result<Judged> result) {
  waiter.pending.reset();
  waiter.answer = std::move(result);
  waiter.answered.set();
}

Duration EvaluationPool::State::device_time() const {
  if (!opened_) return {};
  auto count =
      std::ranges::count_if(devices, [](const PoolDevice& each) { return !each.is_compile_slot; });
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
void EvaluationPool::prepare(const std::vector<UpcomingTask>& tasks) {
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
