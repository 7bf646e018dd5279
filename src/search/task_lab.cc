#include "search/task_lab.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/json_storage.h"
#include "evaluate/candidate/directives.h"
#include "generate/answer/extract.h"
#include "generate/prompt_context.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);  // after a model that failed; doubles
constexpr int kFirstAttempts = 1;  // iterations, of a model that has never answered
constexpr Duration kMaxPause = std::chrono::minutes(1);
constexpr std::size_t kManyThinkers = 1 << 20;
constexpr std::size_t kThinkingKept = 8192;  // bytes of its end, for workflows that reflect

std::string feedback_of(const Json& evaluation, const CandidateJudged& judged) {
  std::string text = text_at(evaluation, "feedback");
  if (!text.empty()) return text;
  return fmt::format("{}: {}", to_string(judged.verdict), judged.evidence);
}

}  // namespace

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

TaskLab::TaskLab(RunCore& core, std::uint32_t task)
    : core_(core),
      number_(task),
      random_(Random(core.state.run.seed).fork(fmt::format("task {}", task))),
      gate_(core.plan.speculation.gate),
      thinkers_(core.parts.loop, core.plan.max_streams > 0
                                     ? static_cast<std::size_t>(core.plan.max_streams)
                                     : kManyThinkers),
      judging_(core.parts.loop) {}

TaskLab::~TaskLab() = default;

const RunTask& TaskLab::task() const {
  return core_.state.run.tasks[number_];
}

std::int64_t TaskLab::iterations_begun() const {
  const TaskState& task_state = core_.state.tasks[number_];
  return static_cast<std::int64_t>(task_state.iterations.size()) - task_state.uncounted;
}

bool TaskLab::may_continue() const {
  std::int64_t most = core_.state.run.budgets.iterations;
  return !core_.stopping.is_set() && (most == 0 || iterations_begun() < most) &&
         !is_target_reached();
}

bool TaskLab::is_target_reached() const {
  if (core_.criterion.kind != Criterion::Kind::target &&
      core_.criterion.kind != Criterion::Kind::peak_fraction) {
    return false;
  }
  const TaskState& task = core_.state.tasks[number_];
  return std::ranges::any_of(task.confirmed, [&](CandidateId id) {
    const CandidateState& candidate = core_.state.candidates.at(id);
    return is_good_enough(
        core_.criterion, {.verdict = Verdict::ok, .speedup = candidate.speedup(), .profiled = true},
        candidate.peak_fraction(), {});
  });
}

std::vector<Message> TaskLab::as_the_model_reads_it(std::vector<Message> messages) const {
  if (!core_.parts.model.info().is_language_model || messages.empty()) return messages;
  messages.back().text = prompt_for_language_models(messages.back().text);
  return messages;
}

Request TaskLab::request_for(const Prompt& prompt, std::string purpose,
                             IterationId iteration) const {
  Request request;
  request.messages = as_the_model_reads_it(prompt.messages);
  request.max_tokens = core_.plan.max_tokens;
  request.affinity = to_string(iteration);
  request.purpose = std::move(purpose);
  return request;
}

Task<Result<IterationOutcome>> TaskLab::write_kernel(Prompt prompt) {
  return iterate(std::move(prompt), core_.stopping);
}

Task<std::optional<Semaphore::Permit>> TaskLab::turn_to_think(Event& stop) {
  auto turn = co_await race(stop.wait(), thinkers_.acquire());
  if (auto* permit = turn.second()) co_return std::move(*permit);
  co_return std::nullopt;
}

Task<Result<IterationOutcome>> TaskLab::iterate(Prompt prompt, Event& stop) {
  IterationOutcome outcome;
  outcome.end = IterationEnd::interrupted;
  auto turn = co_await turn_to_think(stop);
  if (!turn || !may_continue()) co_return outcome;  // others took what was left while it waited
  IterationId id = core_.next_iteration();
  Request request = request_for(prompt, "main", id);
  if (!core_.may_spend(max_tokens(request))) {
    core_.stop("budget");
    co_return outcome;
  }
  CO_TRY(
      core_.note(to_entry(IterationBegun{.id = id, .task = number_, .role = prompt.context.role})));
  outcome.id = id;
  Iteration iteration({.loop = core_.parts.loop,
                       .model = core_.parts.model,
                       .sink = *this,
                       .gate = gate_,
                       .triggers = core_.parts.triggers,
                       .stop = stop},
                      {.id = id,
                       .main = std::move(request),
                       .backend = task().backend,
                       .parent = prompt.context.parent_source,
                       .wants_diff = answers_with_changes(prompt.context.role),
                       .speculation = core_.plan.speculation});
  struct Registered {  // also when it is cancelled
    ~Registered() {
      lab.live_.erase(id);
      lab.parents_.erase(id);
      lab.reasoning_.erase(id);
    }
    TaskLab& lab;
    IterationId id;
  } registered{*this, id};
  live_[id] = &iteration;
  parents_[id] = prompt.parent;
  reasoning_.emplace(id, std::move(*turn));

  const auto known_before = std::ssize(history_);
  IterationReport report = co_await iteration.run();
  core_.parts.pool.end_iteration(id);
  if (report.end == IterationEnd::interrupted && !core_.stopping.is_set()) {
    report.end = IterationEnd::superseded;
  }
  const bool has_feedback = core_.state.iterations.at(id).feedback > 0;
  if (report.end == IterationEnd::abandoned && !has_feedback &&
      begun_again_ < gate_.settings().begin_again) {
    report.end = IterationEnd::restarted;
    ++begun_again_;
  } else if (report.end != IterationEnd::interrupted) {
    begun_again_ = 0;
  }
  IterationEnded ended{.id = id,
                       .end = report.end,
                       .by = report.by,
                       .tokens = report.tokens,
                       .refusals = report.refusals,
                       .note = report.note};
  bool was_cut_short = report.end == IterationEnd::stopped ||
                       report.end == IterationEnd::abandoned ||
                       report.end == IterationEnd::restarted;
  if (was_cut_short && whole_traces_ > 0) {
    ended.saved_tokens =
        std::max<std::int64_t>(0, tokens_of_whole_traces_ / whole_traces_ - report.tokens);
  }
  if (report.end == IterationEnd::answered || report.end == IterationEnd::no_kernel) {
    ++whole_traces_;
    tokens_of_whole_traces_ += report.tokens;
  }
  CO_TRY(co_await core_.record(to_entry(ended)));
  if (report.shadow) judging_.spawn(follow_shadow(id, std::move(report.shadow)));
  CO_TRY(co_await after_failure(report));

  outcome.end = report.end;
  outcome.note = std::move(report.note);
  if (report.reasoning.size() > kThinkingKept) {
    report.reasoning.erase(0, report.reasoning.size() - kThinkingKept);
  }
  outcome.reasoning = std::move(report.reasoning);
  for (const KnownKernel& kernel : history_ | std::views::drop(known_before)) {
    if (kernel.iteration == id) outcome.kernels.push_back(kernel);
  }
  auto main = std::ranges::find(outcome.kernels, Origin::main, &KnownKernel::origin);
  if (main != outcome.kernels.end()) std::rotate(main, main + 1, outcome.kernels.end());
  co_return outcome;
}

// A server that is down is not asked again and again; one that stays down ends the run.
Task<Result<void>> TaskLab::after_failure(const IterationReport& report) {
  if (report.end != IterationEnd::failed) {
    if (report.end != IterationEnd::interrupted) {
      failing_since_.reset();
      failures_ = 0;
    }
    co_return Result<void>();
  }
  Time now = core_.parts.loop.now();
  if (!failing_since_) failing_since_ = now;
  bool has_answered = std::ranges::any_of(core_.state.calls, [](const auto& call) {
    return call.second.done && call.second.done->outcome != CallOutcome::failed;
  });
  // One that has never answered is not there; one that has may come back.
  bool is_hopeless =
      has_answered ? now - *failing_since_ >= core_.plan.patience : failures_ + 1 >= kFirstAttempts;
  if (is_hopeless) {
    core_.stop("the model does not answer: " + report.note);
    co_return Result<void>();
  }
  Duration pause = std::min(kMaxPause, kFirstPause * (1 << std::min(failures_, 6)));
  ++failures_;
  co_await race(core_.stopping.wait(), core_.parts.loop.sleep(pause));
  co_return Result<void>();
}

Task<Result<std::string>> TaskLab::advise(Prompt prompt) {
  Request request = request_for(prompt, prompt.context.role, {});
  request.affinity.clear();
  if (!core_.may_spend(max_tokens(request))) {
    core_.stop("budget");
    co_return std::string();
  }
  auto turn = co_await turn_to_think(core_.stopping);
  if (!turn) co_return std::string();
  auto answered = co_await race(core_.stopping.wait(), ask(core_.parts.model, std::move(request)));
  auto* answer = answered.second();
  co_return answer && *answer ? std::move((*answer)->content) : std::string();
}

Task<Result<std::vector<IterationOutcome>>> TaskLab::write_kernels(std::vector<Prompt> prompts,
                                                                   bool first_pass_wins) {
  Event enough(core_.parts.loop);
  std::vector<std::optional<IterationOutcome>> outcomes(prompts.size());
  {
    TaskGroup watch(core_.parts.loop);
    TaskGroup writers(core_.parts.loop);
    watch.spawn(pass_on_stop(enough));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      writers.spawn(write_one(std::move(prompts[i]), enough, first_pass_wins, outcomes[i]));
    }
    CO_TRY(co_await writers.join());
  }
  std::vector<IterationOutcome> done;
  for (auto& outcome : outcomes) {
    if (outcome) done.push_back(std::move(*outcome));
  }
  co_return done;
}

Task<Result<void>> TaskLab::write_one(Prompt prompt, Event& enough, bool first_pass_wins,
                                      std::optional<IterationOutcome>& outcome) {
  if (!may_continue()) {  // those beside it have taken what was left of the budget
    outcome = IterationOutcome{};
    outcome->end = IterationEnd::interrupted;
    co_return Result<void>();
  }
  outcome = CO_TRY(co_await iterate(std::move(prompt), enough));
  if (first_pass_wins && outcome->best()) enough.set();
  co_return Result<void>();
}

Task<Result<void>> TaskLab::side_by_side(std::vector<Task<Result<void>>> workers) {
  TaskGroup group(core_.parts.loop);
  for (auto& worker : workers) group.spawn(std::move(worker));
  co_return co_await group.join();
}

Task<void> TaskLab::pass_on_stop(Event& enough) {
  co_await core_.stopping.wait();
  enough.set();
}

Task<Result<void>> TaskLab::begin_from(std::string source) {
  IterationId id = core_.next_iteration();
  CO_TRY(core_.note(
      to_entry(IterationBegun{.id = id, .task = number_, .role = std::string(kStartRole)})));
  Subject subject{.id = core_.next_candidate(),
                  .iteration = id,
                  .parent = {},
                  .kernel = {.source = std::move(source), .is_python = core_.plan.model_new}};
  auto judged = co_await race(core_.stopping.wait(), try_judge_new(subject));
  IterationEnd end = IterationEnd::interrupted;
  if (auto* result = judged.second()) {
    CO_TRY(std::move(*result));
    end = IterationEnd::answered;
  }
  co_return co_await core_.record(to_entry(IterationEnded{.id = id, .end = end}));
}

CandidateId TaskLab::found(IterationId iteration, FoundKernel kernel) {
  CandidateId id = core_.next_candidate();
  CandidateId parent = kernel.mends;
  if (auto known = parents_.find(iteration); !parent.value && known != parents_.end()) {
    parent = known->second;
  }
  judging_.spawn(
      judge_new({.id = id, .iteration = iteration, .parent = parent, .kernel = std::move(kernel)}));
  return id;
}

std::optional<Mending> TaskLab::words_to_mend(CandidateId failed) {
  auto kernel = std::ranges::find(history_, failed, &KnownKernel::id);
  if (!repair_prompter_ || kernel == history_.end()) return std::nullopt;
  Prompt prompt = repair_prompter_(*kernel);
  std::string_view fence = core_.plan.model_new       ? "python"
                           : task().backend == "cuda" ? "cuda"
                                                      : "cpp";
  std::string_view end = kernel->source.ends_with('\n') ? "" : "\n";
  Mending mending{
      .words = {{Speaker::assistant, fmt::format("```{}\n{}{}```\n", fence, kernel->source, end)}},
      .source = kernel->source};
  for (Message& message : as_the_model_reads_it(std::move(prompt.messages))) {
    if (message.speaker == Speaker::user) mending.words.push_back(std::move(message));
  }
  return mending;
}

Task<void> TaskLab::judge_new(Subject subject) {
  auto judged = co_await try_judge_new(subject);
  if (!judged) core_.fail(judged.error());
}

Task<Result<void>> TaskLab::try_judge_new(Subject& subject) {
  ArtifactId source = CO_TRY(co_await core_.parts.storage.put(subject.kernel.source));
  CO_TRY(core_.note(to_entry(CandidateFound{.id = subject.id,
                                            .iteration = subject.iteration,
                                            .origin = subject.kernel.origin,
                                            .source = source,
                                            .parent = subject.parent,
                                            .trigger = subject.kernel.trigger,
                                            .prefix_tokens = subject.kernel.prefix_tokens,
                                            .at = core_.since_begun(),
                                            .shadow = subject.kernel.shadow})));
  co_return co_await try_judge(std::move(subject));
}

Task<void> TaskLab::judge(Subject subject) {
  auto judged = co_await try_judge(std::move(subject));
  if (!judged) core_.fail(judged.error());
}

Task<Result<void>> TaskLab::try_judge(Subject subject) {
  Judged judged = CO_TRY(co_await core_.parts.pool.evaluate({.id = subject.id,
                                                             .task = task().where,
                                                             .backend = task().backend,
                                                             .source = subject.kernel.source,
                                                             .origin = subject.kernel.origin,
                                                             .iteration = subject.iteration,
                                                             .shapes = core_.plan.shapes,
                                                             .model_new = subject.kernel.is_python,
                                                             .shadow = subject.kernel.shadow}));
  CandidateJudged entry{.id = subject.id,
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

  // Itself excluded: what was known before this one.
  SpeedupsSoFar so_far = core_.state.tasks[number_].so_far();
  CO_TRY(co_await core_.record(to_entry(entry)));
  bool has_feedback = is_feedback(judged) && !subject.kernel.shadow;
  if (!judged.withdrawn && !subject.kernel.shadow) {
    const CandidateFound& found = core_.state.candidates.at(subject.id).found;
    history_.push_back(known_kernel(found, entry, subject.kernel.source, evaluation));
    bool is_best = core_.state.tasks[number_].best == subject.id;
    if (is_best && core_.listener.on_best) core_.listener.on_best(number_, history_.back());
    tune_if_best(subject.id, subject.kernel.source);
    bool failed = is_candidate_fault(judged);
    if (failed || judged.verdict == Verdict::ok) gate_.came_out(subject.kernel.origin, !failed);
    if (subject.kernel.origin == Origin::fork && !subject.kernel.mends.value) {
      gate_.judged(judged.verdict == Verdict::ok,
                   has_feedback && judged.speedup.median > so_far.mean);
    }
  }
  if (auto iteration = live_.find(subject.iteration); iteration != live_.end()) {
    iteration->second->tell(
        {.id = subject.id,
         .origin = subject.kernel.origin,
         .has_feedback = has_feedback,
         .good_enough =
             has_feedback && is_good_enough(core_.criterion, judged, entry.peak_fraction, so_far),
         .is_first = core_.state.tasks[number_].confirmed.size() <= (has_feedback ? 1U : 0U),
         .failed = is_candidate_fault(judged),
         .repeated = judged.repeated,
         .is_mended = subject.kernel.mends.value != 0});
  }
  co_return Result<void>();
}

// A generation that was stopped runs on unseen, to measure what stopping it saved and what kernel it would have
// written.
Task<void> TaskLab::follow_shadow(IterationId iteration, std::unique_ptr<Generation> generation) {
  Time stopped_at = core_.parts.loop.now();
  std::int64_t tokens = 0;
  std::string answer;
  bool whole = false;
  while (!whole) {
    auto event = co_await generation->next();
    if (!event) break;
    if (auto* delta = std::get_if<Delta>(&*event)) {
      tokens += estimate_tokens(delta->text);
      if (delta->kind == DeltaKind::content) answer += delta->text;
    }
    whole = std::holds_alternative<Ended>(*event);
  }
  auto noted = core_.note(to_entry(ShadowEnded{.iteration = iteration,
                                               .saved_tokens = tokens,
                                               .saved = core_.parts.loop.now() - stopped_at,
                                               .whole = whole}));
  if (!noted || !whole) co_return;
  auto kernel = extract_kernel({.text = answer,
                                .finish = FinishReason::stop,
                                .backend = task().backend,
                                .parent = {},
                                .answer_start = {}});
  if (!kernel) co_return;
  co_await judge_new(
      {.id = core_.next_candidate(),
       .iteration = iteration,
       .parent = {},
       .kernel = {
           .source = std::move(kernel->source), .is_python = kernel->is_python, .shadow = true}});
}

// A fork repeats what its main generation said, which the server has in its cache: only where it tells that it had not
// do those tokens count.
void TaskLab::call_ended(IterationId iteration, const CallRecord& call) {
  const Usage& usage = call.usage;
  std::int64_t tokens = usage.cached_known ? usage.fresh_tokens() : usage.completion_tokens;
  if (call.purpose == "fork") {
    gate_.spent(0, tokens);
  } else {
    // What it wrote is judged while the next one thinks. A call that failed may be tried again.
    if (call.outcome != CallOutcome::failed) reasoning_.erase(iteration);
    gate_.spent(tokens, 0);
  }
}

Task<void> TaskLab::finish_judging() {
  co_await race(core_.stopping.wait(), judging_.join());
}

Task<Result<void>> TaskLab::recall() {
  const TaskState& task_state = core_.state.tasks[number_];
  std::vector<std::tuple<Duration, CandidateId, bool>> known;  // since when; tuned
  for (CandidateId id : task_state.candidates) {
    const CandidateState& candidate = core_.state.candidates.at(id);
    if (!candidate.judged) {
      std::string source = CO_TRY(co_await core_.parts.storage.get(candidate.found.source));
      judging_.spawn(
          judge({.id = id,
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
    tune_if_best(id, CO_TRY(co_await core_.parts.storage.get(candidate.found.source)));
  }
  co_return Result<void>();
}

Task<Result<KnownKernel>> TaskLab::recall_kernel(const CandidateState& candidate) {
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

}  // namespace specgen
