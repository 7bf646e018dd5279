#include "search/iteration_driver.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "generate/answer/extract.h"
#include "generate/prompt_context.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);  // after a model failure; doubles
constexpr Duration kMaxPause = std::chrono::minutes(1);
constexpr int kMaxDoublings = 6;
constexpr int kFirstAttempts = 1;  // iterations, with a model that has never answered
constexpr std::size_t kUnlimitedStreams = 1 << 20;
constexpr std::size_t kReasoningKept = 8192;  // bytes of its end, for workflows that reflect

IterationOutcome interrupted_outcome() {
  IterationOutcome outcome;
  outcome.end = IterationEnd::interrupted;
  return outcome;
}

}  // namespace

IterationDriver::IterationDriver(RunCore& core, std::uint32_t task)
    : core_(core),
      number_(task),
      random_(Random(core.state.run.seed).fork(fmt::format("task {}", task))),
      gate_(core.plan.speculation.gate),
      stopping_(core.plan.speculation.stopping, core.criterion, core.state.tasks[task].reasoning,
                core.state.reasoning),
      streams_(core.parts.loop, core.plan.max_streams > 0
                                    ? static_cast<std::size_t>(core.plan.max_streams)
                                    : kUnlimitedStreams),
      store_(core, task,
             [this](const EvaluatedCandidate& evaluated) { take_evaluated(evaluated); }),
      shadows_(core.parts.loop) {}

IterationDriver::~IterationDriver() = default;

const RunTask& IterationDriver::task() const {
  return core_.state.run.tasks[number_];
}

std::int64_t IterationDriver::iterations_begun() const {
  const TaskState& task_state = core_.state.tasks[number_];
  return static_cast<std::int64_t>(task_state.iterations.size()) - task_state.uncounted;
}

bool IterationDriver::may_continue() const {
  std::int64_t limit = core_.state.run.budgets.iterations;
  return !core_.stopping.is_set() && (limit == 0 || iterations_begun() < limit) &&
         !has_reached_target();
}

bool IterationDriver::has_reached_target() const {
  return std::ranges::any_of(core_.state.tasks[number_].confirmed, [&](CandidateId id) {
    const CandidateState& candidate = core_.state.candidates.at(id);
    return stopping_.reaches_target(candidate.speedup(), candidate.peak_fraction());
  });
}

Task<Result<IterationOutcome>> IterationDriver::write_kernel(Prompt prompt) {
  return iterate(std::move(prompt), core_.stopping);
}

Task<Result<IterationOutcome>> IterationDriver::iterate(Prompt prompt, Event& stop) {
  auto permit = co_await acquire_stream(stop);
  // Parallel iterations may have used up the budget meanwhile.
  if (!permit || !may_continue()) co_return interrupted_outcome();
  IterationId id = core_.next_iteration();
  Request request = request_for(prompt, "main", id);
  if (!core_.may_spend(max_tokens(request))) {
    core_.stop("budget");
    co_return interrupted_outcome();
  }
  CO_TRY(
      core_.note(to_entry(IterationBegun{.id = id, .task = number_, .role = prompt.context.role})));
  auto iteration = make_iteration(id, std::move(request), prompt, stop);
  struct Registration {  // ends also when this task is cancelled
    ~Registration() { driver.live_.erase(id); }
    IterationDriver& driver;
    IterationId id;
  } registration{*this, id};
  live_[id] = {.iteration = iteration.get(), .parent = prompt.parent, .stream = std::move(permit)};

  const std::size_t known_before = history().size();
  IterationReport report = co_await iteration->run();
  core_.parts.pool.end_iteration(id);
  CO_TRY(co_await record_end(id, report));
  if (report.shadow) shadows_.spawn(follow_shadow(id, std::move(report.shadow)));
  co_await pause_after_failure(report);
  co_return outcome_of(id, std::move(report), known_before);
}

Task<std::optional<Semaphore::Permit>> IterationDriver::acquire_stream(Event& stop) {
  auto turn = co_await race(stop.wait(), streams_.acquire());
  if (auto* permit = turn.second()) co_return std::move(*permit);
  co_return std::nullopt;
}

std::unique_ptr<AbstractIteration> IterationDriver::make_iteration(IterationId id, Request request,
                                                                   const Prompt& prompt,
                                                                   Event& stop) {
  return core_.plan.make_iteration({.loop = core_.parts.loop,
                                    .model = core_.parts.model,
                                    .sink = *this,
                                    .gate = gate_,
                                    .stopping = stopping_,
                                    .triggers = core_.parts.triggers,
                                    .stop = stop},
                                   {.id = id,
                                    .main = std::move(request),
                                    .backend = task().backend,
                                    .parent = prompt.context.parent_source,
                                    .wants_diff = answers_with_changes(prompt.context.role),
                                    .speculation = core_.plan.speculation});
}

Task<Result<void>> IterationDriver::record_end(IterationId id, IterationReport& report) {
  if (report.end == IterationEnd::interrupted && !core_.stopping.is_set()) {
    report.end = IterationEnd::superseded;
  }
  report.end = stopping_.after_iteration(report.end, core_.state.iterations.at(id).feedback > 0);
  IterationEnded ended{.id = id,
                       .end = report.end,
                       .by = report.by,
                       .tokens = report.tokens,
                       .refusals = report.refusals,
                       .note = report.note};
  bool was_cut_short = report.end == IterationEnd::stopped ||
                       report.end == IterationEnd::abandoned ||
                       report.end == IterationEnd::restarted;
  if (was_cut_short && complete_streams_.count > 0) {
    std::int64_t usual = complete_streams_.tokens / complete_streams_.count;
    ended.saved_tokens = std::max<std::int64_t>(0, usual - report.tokens);
  }
  if (report.end == IterationEnd::answered || report.end == IterationEnd::no_kernel) {
    ++complete_streams_.count;
    complete_streams_.tokens += report.tokens;
  }
  return core_.record(to_entry(ended));
}

// A failing server is retried with growing pauses; one that keeps failing ends the run.
Task<void> IterationDriver::pause_after_failure(const IterationReport& report) {
  if (report.end != IterationEnd::failed) {
    if (report.end != IterationEnd::interrupted) model_failures_ = {};
    co_return;
  }
  Time now = core_.parts.loop.now();
  if (!model_failures_.since) model_failures_.since = now;
  bool has_answered = std::ranges::any_of(core_.state.calls, [](const auto& call) {
    return call.second.done && call.second.done->outcome != CallOutcome::failed;
  });
  // A model that has never answered is probably not there; one that has may come back.
  bool is_hopeless = has_answered ? now - *model_failures_.since >= core_.plan.patience
                                  : model_failures_.in_a_row + 1 >= kFirstAttempts;
  if (is_hopeless) {
    core_.stop("the model does not answer: " + report.note);
    co_return;
  }
  int doublings = std::min(model_failures_.in_a_row, kMaxDoublings);
  ++model_failures_.in_a_row;
  Duration pause = std::min(kMaxPause, kFirstPause * (1 << doublings));
  co_await race(core_.stopping.wait(), core_.parts.loop.sleep(pause));
}

IterationOutcome IterationDriver::outcome_of(IterationId id, IterationReport report,
                                             std::size_t known_before) const {
  IterationOutcome outcome;
  outcome.id = id;
  outcome.end = report.end;
  outcome.note = std::move(report.note);
  if (report.reasoning.size() > kReasoningKept) {
    report.reasoning.erase(0, report.reasoning.size() - kReasoningKept);
  }
  outcome.reasoning = std::move(report.reasoning);
  for (const KnownKernel& kernel : history() | std::views::drop(known_before)) {
    if (kernel.iteration == id) outcome.kernels.push_back(kernel);
  }
  auto main = std::ranges::find(outcome.kernels, Origin::main, &KnownKernel::origin);
  if (main != outcome.kernels.end()) std::rotate(main, main + 1, outcome.kernels.end());
  return outcome;
}

// A stopped generation continues unused, to measure what stopping it saved and which kernel it would have written.
Task<void> IterationDriver::follow_shadow(IterationId iteration,
                                          std::unique_ptr<Generation> generation) {
  Time stopped_at = core_.parts.loop.now();
  std::int64_t tokens = 0;
  std::string answer;
  bool has_ended = false;
  while (!has_ended) {
    auto event = co_await generation->next();
    if (!event) break;
    if (auto* delta = std::get_if<Delta>(&*event)) {
      tokens += estimate_tokens(delta->text);
      if (delta->kind == DeltaKind::content) answer += delta->text;
    }
    has_ended = std::holds_alternative<Ended>(*event);
  }
  auto noted = core_.note(to_entry(ShadowEnded{.iteration = iteration,
                                               .saved_tokens = tokens,
                                               .saved = core_.parts.loop.now() - stopped_at,
                                               .whole = has_ended}));
  if (!noted || !has_ended) co_return;
  auto kernel = extract_kernel({.text = answer,
                                .finish = FinishReason::stop,
                                .backend = task().backend,
                                .parent = {},
                                .answer_start = {}});
  if (!kernel) co_return;
  auto evaluated = co_await store_.evaluate(
      iteration,
      {.source = std::move(kernel->source), .is_python = kernel->is_python, .shadow = true});
  if (!evaluated) core_.fail(evaluated.error());
}

Task<Result<std::string>> IterationDriver::advise(Prompt prompt) {
  Request request = request_for(prompt, prompt.context.role, {});
  request.affinity.clear();
  if (!core_.may_spend(max_tokens(request))) {
    core_.stop("budget");
    co_return std::string();
  }
  auto permit = co_await acquire_stream(core_.stopping);
  if (!permit) co_return std::string();
  auto answered = co_await race(core_.stopping.wait(), ask(core_.parts.model, std::move(request)));
  auto* answer = answered.second();
  co_return answer && *answer ? std::move((*answer)->content) : std::string();
}

Task<Result<std::vector<IterationOutcome>>> IterationDriver::write_kernels(
    std::vector<Prompt> prompts, bool first_pass_wins) {
  Event stop(core_.parts.loop);
  std::vector<std::optional<IterationOutcome>> outcomes(prompts.size());
  {
    TaskGroup watch(core_.parts.loop);
    TaskGroup writers(core_.parts.loop);
    watch.spawn(pass_on_stop(stop));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      writers.spawn(write_one(std::move(prompts[i]), stop, first_pass_wins, outcomes[i]));
    }
    CO_TRY(co_await writers.join());
  }
  std::vector<IterationOutcome> done;
  for (auto& outcome : outcomes) {
    if (outcome) done.push_back(std::move(*outcome));
  }
  co_return done;
}

Task<Result<void>> IterationDriver::write_one(Prompt prompt, Event& stop, bool first_pass_wins,
                                              std::optional<IterationOutcome>& outcome) {
  if (!may_continue()) {  // parallel iterations have used up the budget
    outcome = interrupted_outcome();
    co_return Result<void>();
  }
  outcome = CO_TRY(co_await iterate(std::move(prompt), stop));
  if (first_pass_wins && outcome->best()) stop.set();
  co_return Result<void>();
}

Task<void> IterationDriver::pass_on_stop(Event& stop) {
  co_await core_.stopping.wait();
  stop.set();
}

Task<Result<void>> IterationDriver::side_by_side(std::vector<Task<Result<void>>> workers) {
  TaskGroup group(core_.parts.loop);
  for (auto& worker : workers) group.spawn(std::move(worker));
  co_return co_await group.join();
}

Task<Result<void>> IterationDriver::begin_from(std::string source) {
  IterationId id = core_.next_iteration();
  CO_TRY(core_.note(
      to_entry(IterationBegun{.id = id, .task = number_, .role = std::string(kStartRole)})));
  FoundKernel kernel{.source = std::move(source), .is_python = core_.plan.model_new};
  auto evaluated = co_await race(core_.stopping.wait(), store_.evaluate(id, std::move(kernel)));
  IterationEnd end = IterationEnd::interrupted;
  if (auto* result = evaluated.second()) {
    CO_TRY(std::move(*result));
    end = IterationEnd::answered;
  }
  co_return co_await core_.record(to_entry(IterationEnded{.id = id, .end = end}));
}

CandidateId IterationDriver::submit(IterationId iteration, FoundKernel kernel) {
  CandidateId parent = kernel.repairs;
  if (auto live = live_.find(iteration); !parent.value && live != live_.end()) {
    parent = live->second.parent;
  }
  return store_.submit(iteration, parent, std::move(kernel));
}

// The conversation continues as if the model had answered with the failed kernel.
std::optional<RepairPrompt> IterationDriver::repair_prompt(CandidateId failed) {
  const KnownKernel* kernel = store_.find(failed);
  if (!repair_prompter_ || !kernel) return std::nullopt;
  Prompt prompt = repair_prompter_(*kernel);
  std::string_view fence = core_.plan.model_new       ? "python"
                           : task().backend == "cuda" ? "cuda"
                                                      : "cpp";
  std::string_view end = kernel->source.ends_with('\n') ? "" : "\n";
  RepairPrompt repair{.messages = {{Speaker::assistant,
                                    fmt::format("```{}\n{}{}```\n", fence, kernel->source, end)}},
                      .source = kernel->source};
  for (Message& message : as_the_model_reads_it(std::move(prompt.messages))) {
    if (message.speaker == Speaker::user) repair.messages.push_back(std::move(message));
  }
  return repair;
}

void IterationDriver::take_evaluated(const EvaluatedCandidate& evaluated) {
  const Judged& judged = evaluated.judged;
  const FoundKernel& kernel = evaluated.candidate.kernel;
  const bool failed = is_candidate_fault(judged);
  const bool is_repair = kernel.repairs.value != 0;
  if (!judged.withdrawn && !kernel.shadow) {
    if (failed || judged.verdict == Verdict::ok) stopping_.add_outcome(kernel.origin, !failed);
    if (kernel.origin == Origin::fork && !is_repair) {
      bool is_better = evaluated.has_feedback && judged.speedup.median > evaluated.before.mean;
      gate_.add_fork_result(judged.verdict == Verdict::ok, is_better);
    }
  }
  auto live = live_.find(evaluated.candidate.iteration);
  if (live == live_.end()) return;
  const std::size_t confirmed = core_.state.tasks[number_].confirmed.size();
  live->second.iteration->add_result(
      {.id = evaluated.candidate.id,
       .origin = kernel.origin,
       .prefix_bytes = kernel.prefix_bytes,
       .has_feedback = evaluated.has_feedback,
       .meets_criterion =
           evaluated.has_feedback &&
           stopping_.meets_criterion(judged, evaluated.peak_fraction, evaluated.before),
       .is_first = confirmed <= (evaluated.has_feedback ? 1U : 0U),
       .failed = failed,
       .repeated = judged.repeated,
       .is_repair = is_repair});
}

// A fork repeats the prefix of its main generation, which the server has in its cache. Only if the server reports cache
// misses do those tokens count.
void IterationDriver::call_ended(IterationId iteration, const CallRecord& call) {
  const Usage& usage = call.usage;
  std::int64_t tokens = usage.cached_known ? usage.fresh_tokens() : usage.completion_tokens;
  if (call.purpose == "fork") {
    gate_.add_tokens(0, tokens);
    return;
  }
  gate_.add_tokens(tokens, 0);
  // The next stream may reason while this one's answer is evaluated. A failed call may be retried.
  auto live = live_.find(iteration);
  if (call.outcome != CallOutcome::failed && live != live_.end()) live->second.stream.reset();
}

std::vector<Message> IterationDriver::as_the_model_reads_it(std::vector<Message> messages) const {
  if (!core_.parts.model.info().is_language_model || messages.empty()) return messages;
  messages.back().text = prompt_for_language_models(messages.back().text);
  return messages;
}

Request IterationDriver::request_for(const Prompt& prompt, std::string purpose,
                                     IterationId iteration) const {
  Request request;
  request.messages = as_the_model_reads_it(prompt.messages);
  request.max_tokens = core_.plan.max_tokens;
  request.affinity = to_string(iteration);
  request.purpose = std::move(purpose);
  return request;
}

Task<void> IterationDriver::finish_evaluating() {
  co_await race(core_.stopping.wait(), join());
}

Task<void> IterationDriver::join() {
  (void)co_await shadows_.join();  // the tasks report errors to the run themselves
  (void)co_await store_.join();
}

void IterationDriver::cancel_evaluating() {
  shadows_.cancel();
  store_.cancel();
}

}  // namespace specgen
