#include "speculate/iteration.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "generate/answer/extract.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxNews = 4096;                     // candidates of one iteration
constexpr std::int64_t kUsualForkAnswer = 1500;            // tokens, for the gate
constexpr std::size_t kMaxStream = std::size_t{16} << 20;  // bytes of reasoning and answer
constexpr int kForkPriority = -1;                          // the main generation goes first
constexpr std::size_t kPatience = 6144;                    // bytes of reasoning, about 2000 tokens
constexpr std::size_t kCutBefore = 256;                    // at most: a cut, where its trigger is
constexpr int kStudyLanes = 4;                             // forks of a study at once

// Refusals for a reason that is gone a little later.
bool will_pass(Refusal refusal) {
  return refusal == Refusal::too_early || refusal == Refusal::too_close ||
         refusal == Refusal::too_many_in_flight || refusal == Refusal::pool_is_full;
}

std::string_view fence_of(std::string_view backend) {
  return backend == "cuda" ? "```cuda\n" : "```cpp\n";
}

}  // namespace

Iteration::Iteration(IterationSurroundings surroundings, IterationSetup setup)
    : around_(surroundings),
      setup_(std::move(setup)),
      harvester_(setup_.backend),
      news_(surroundings.loop, kMaxNews),
      fork_ended_(surroundings.loop),
      forks_(surroundings.loop) {
  if (setup_.speculation.forks && around_.triggers) {
    scanner_ = std::make_unique<TriggerScanner>(*around_.triggers);
  }
}

Iteration::~Iteration() = default;

void Iteration::tell(const CandidateNews& news) {
  (void)news_.try_send(news);  // it holds as many as there can be candidates
}

Task<IterationReport> Iteration::run() {
  around_.gate.begin_iteration();
  auto started = co_await race(around_.model.start(setup_.main), around_.stop.wait());
  if (started.second()) {
    end_with(IterationEnd::interrupted);
  } else if (!*started.first()) {
    end_with(IterationEnd::failed, started.first()->error().summary());
  } else {
    main_ = std::move(**started.first());
    if (is_study() && setup_.speculation.study_control) {
      ++side_tasks_;
      forks_.spawn(control());
    }
    co_await follow_main();
    if (!over_) co_await await_verdicts();
  }
  forks_.cancel();
  if (!report_.tokens) report_.tokens = trace_.tokens() + estimate_tokens(answer_);
  report_.reasoning = trace_.text();
  co_return std::move(report_);
}

Task<void> Iteration::follow_main() {
  while (!over_) {
    // Verdicts first: what they say may make the rest of the reasoning needless.
    auto event = co_await race(around_.stop.wait(), news_.receive(), main_->next());
    if (event.first()) {
      end_with(IterationEnd::interrupted);
    } else if (auto* news = event.second()) {
      if (take(**news)) {
        end_with(IterationEnd::stopped);
      } else if (is_hopeless()) {
        end_with(IterationEnd::abandoned,
                 fmt::format("{} kernels of it in a row have failed", failures_));
      }
    } else if (auto* streamed = event.get<2>(); !*streamed) {
      // A stream that broke has shown kernels all the same.
      report_.end = IterationEnd::failed;
      report_.note = streamed->error().summary();
      if (held_) found(*std::exchange(held_, std::nullopt));
      main_.reset();
      co_return;
    } else if (take(std::move(**streamed)) == Step::main_ended) {
      main_.reset();
      co_return;
    }
  }
}

// The model has said all it will. What it wrote is judged; if that failed, what was found on the way may still bring
// feedback.
Task<void> Iteration::await_verdicts() {
  while (!over_ && !is_settled()) {
    fork_ended_.reset();
    auto event = co_await race(around_.stop.wait(), news_.receive(), fork_ended_.wait());
    if (event.first()) {
      end_with(IterationEnd::interrupted);
    } else if (auto* news = event.second(); news && take(**news)) {
      report_.by = {};  // it was over anyway
      co_return;
    }
  }
}

bool Iteration::is_settled() const {
  if (main_candidate_.value && !main_judged_) return false;
  if (is_study()) return side_tasks_ == 0 && unjudged_ == 0;
  return has_feedback_ || (unjudged_ == 0 && forks_in_flight_ == 0);
}

Iteration::Step Iteration::take(StreamEvent event) {
  if (auto* prompt = std::get_if<PromptTokens>(&event)) trace_.add(*prompt);
  if (auto* delta = std::get_if<Delta>(&event)) take(*delta);
  auto* ended = std::get_if<Ended>(&event);
  if (!ended) return Step::goes_on;
  answer_is_whole(*ended);
  return Step::main_ended;
}

void Iteration::take(const Delta& delta) {
  if (trace_.text().size() + answer_.size() + delta.text.size() > kMaxStream) {
    end_with(IterationEnd::failed, "the model does not stop talking");
    return;
  }
  if (delta.kind == DeltaKind::content) {
    answer_ += delta.text;
    return;
  }
  trace_.add(delta);
  if (good_.value && trace_.text().size() > good_since_ + kPatience) {
    report_.by = good_;
    end_with(IterationEnd::stopped);
    return;
  }
  if (has_had_its_chance()) {
    end_with(IterationEnd::abandoned, "it took as long as a good kernel does, and led to none");
    return;
  }
  hand_in_draft();
  if (setup_.speculation.harvest) look_for_kernels(delta.text);
  if (!scanner_ || is_study()) return;
  triggers_.clear();
  scanner_->feed(delta.text, triggers_);
  for (const Trigger& trigger : triggers_) {
    notice(trigger);
    consider(trigger);
  }
  if (triggers_.empty()) reconsider();
}

void Iteration::look_for_kernels(std::string_view reasoning) {
  kernels_.clear();
  std::uint64_t repeated = harvester_.repeated();
  harvester_.feed(reasoning, kernels_);
  // A draft that was there before: what a fork would write now is known.
  if (harvester_.repeated() > repeated) around_.gate.harvested(trace_.tokens());
  for (HarvestedKernel& kernel : kernels_) {
    std::int64_t tokens = trace_.tokens();
    around_.gate.harvested(tokens);
    last_look_ = kernel.end;
    held_ = FoundKernel{.source = std::move(kernel.source),
                        .origin = Origin::harvest,
                        .prefix_tokens = tokens,
                        .prefix_bytes = kernel.end,
                        .is_python = kernel.is_python,
                        .shadow = is_study()};
    hand_in_draft();
  }
}

void Iteration::hand_in_draft() {
  if (!held_) return;
  // Of a study every draft is judged; so is the first one of an iteration, and any when it has nothing else with the
  // judges, however busy these are: a draft has cost nothing, and is the soonest that can be learned of this reasoning.
  bool may_wait = !is_study() && has_draft_ && unjudged_ > 0;
  if (may_wait && !around_.gate.has_room(around_.sink.load())) return;
  has_draft_ = true;
  found(*std::exchange(held_, std::nullopt));
}

void Iteration::consider(const Trigger& trigger) {
  auto refusal = around_.gate.ask(trigger, view_of(trigger));
  if (!refusal) return fork_from(trigger);
  ++report_.refusals[static_cast<std::size_t>(*refusal)];
  if (will_pass(*refusal)) waiting_ = trigger;
}

// A place that came too soon after another is still a good one later: else the last decision of a quick thinker, the
// one that counts, would be passed over. Of several that wait the latest is the one that knows most.
void Iteration::reconsider() {
  if (!waiting_) return;
  auto refusal = around_.gate.ask_again(*waiting_, view_of(*waiting_));
  if (refusal && will_pass(*refusal)) return;
  Trigger trigger = *std::exchange(waiting_, std::nullopt);
  if (!refusal) fork_from(trigger);
}

GateView Iteration::view_of(const Trigger& trigger) const {
  std::int64_t tokens = trace_.tokens();
  std::int64_t cost = kUsualForkAnswer;
  return {.tokens = tokens,
          .new_bytes = trigger.offset > last_look_ ? trigger.offset - last_look_ : 0,
          .forks_in_flight = forks_in_flight_,
          .forks_this_iteration = forks_made_,
          .tokens_left = around_.sink.may_spend(cost + tokens) ? -1 : 0,
          .fork_cost = cost,
          .load = around_.sink.load()};
}

void Iteration::fork_from(const Trigger& trigger) {
  waiting_.reset();
  std::int64_t tokens = trace_.tokens();
  ReasoningPrefix prefix = trace_.prefix(trigger.offset);
  if (prefix.text.empty()) return;  // there is no safe place to cut
  around_.gate.forked(tokens);
  last_look_ = prefix.text.size();
  ++forks_in_flight_;
  ++forks_made_;
  forks_.spawn(
      fork(trigger.pattern ? trigger.pattern->name : std::string(to_string(trigger.category)),
           fork_request(std::move(prefix))));
}

void Iteration::notice(const Trigger& trigger) {
  if (trigger.category == TriggerCategory::decision_made) decided_at_ = trigger.offset;
}

Request Iteration::fork_request(ReasoningPrefix prefix) const {
  Request request = setup_.main;
  request.mode = Mode::answer;
  request.prefix = std::move(prefix);
  request.max_tokens = setup_.speculation.fork_max_tokens;
  request.priority += kForkPriority;
  request.purpose = "fork";
  if (!setup_.wants_diff) {  // straight to the code, and no word after it
    request.answer_start = std::string(fence_of(setup_.backend));
    request.stop = {"\n```"};
  }
  return request;
}

// A fork that fails has cost what it cost; the reasoning goes on.
Task<void> Iteration::fork(std::string trigger, Request request) {
  std::string start = request.answer_start;
  std::size_t knows = request.prefix->text.size();
  auto answer = co_await ask(around_.model, std::move(request));
  --forks_in_flight_;
  fork_ended_.set();  // it may be the last that the iteration waits for
  if (!answer) co_return;
  auto kernel = extract_kernel({.text = answer->content,
                                .finish = answer->reason,
                                .backend = setup_.backend,
                                .parent = parent_for_diffs(),
                                .answer_start = start,
                                .stops_at_fence = !setup_.wants_diff});
  if (!kernel) {
    around_.gate.judged(false, false);
    co_return;
  }
  found({.source = std::move(kernel->source),
         .origin = Origin::fork,
         .trigger = std::move(trigger),
         .prefix_tokens = tokens_before(knows),
         .prefix_bytes = knows,
         .is_python = kernel->is_python,
         .shadow = is_study()});
}

// Of the answer only if nothing else has come of the iteration: there is no reasoning left to be stopped.
bool Iteration::is_worth_mending(const CandidateNews& failed) const {
  if (!setup_.speculation.forks || is_study() || failed.repeated || failed.is_mended) return false;
  if (failed.origin == Origin::main && has_feedback_) return false;
  return mended_ < around_.gate.settings().max_mended && !good_.value;
}

bool Iteration::begin_mending(CandidateId failed) {
  std::optional<Mending> mending = around_.sink.words_to_mend(failed);
  if (!mending) return false;
  Request request = setup_.main;
  for (Message& message : mending->words) request.messages.push_back(std::move(message));
  request.mode = Mode::answer;
  request.max_tokens = setup_.speculation.fork_max_tokens;
  request.priority += kForkPriority;
  request.purpose = "fork";
  if (!around_.sink.may_spend(kUsualForkAnswer + estimate_tokens(request.messages.back().text))) {
    return false;
  }
  ++mended_;
  ++forks_in_flight_;
  forks_.spawn(mend(failed, std::move(mending->source), std::move(request)));
  return true;
}

Task<void> Iteration::mend(CandidateId failed, std::string source, Request request) {
  auto answer = co_await ask(around_.model, std::move(request));
  --forks_in_flight_;
  fork_ended_.set();
  auto kernel = extract_kernel({.text = answer ? std::string_view(answer->content) : "",
                                .finish = answer ? answer->reason : FinishReason::other,
                                .backend = setup_.backend,
                                .parent = source,
                                .answer_start = {}});
  if (!kernel) {  // so it has failed for good
    ++failures_;
    co_return;
  }
  std::size_t knows = knows_[failed];
  found({.source = std::move(kernel->source),
         .origin = Origin::fork,
         .trigger = "mend",
         .prefix_tokens = tokens_before(knows),
         .prefix_bytes = knows,
         .is_python = kernel->is_python,
         .mends = failed});
}

void Iteration::begin_study() {
  for (int lane = 0; lane < kStudyLanes; ++lane) {
    ++side_tasks_;
    forks_.spawn(fork_at_shares(lane));
  }
}

Task<void> Iteration::fork_at_shares(int lane) {
  const double step = setup_.speculation.study_step;
  const std::size_t whole = trace_.text().size();
  for (int i = 1 + lane; step * i < 1; i += kStudyLanes) {
    ReasoningPrefix prefix =
        trace_.prefix(static_cast<std::size_t>(step * i * static_cast<double>(whole)));
    std::size_t cut = prefix.text.size();
    if (cut == 0) continue;  // there is no safe place so early
    if (!around_.sink.may_spend(kUsualForkAnswer + tokens_before(cut))) break;
    ++forks_in_flight_;
    ++forks_made_;
    co_await fork("share", fork_request(std::move(prefix)));
  }
  --side_tasks_;
  fork_ended_.set();
}

// What the other way to use the time would give: the same prompt thought through once more.
Task<void> Iteration::control() {
  Request request = setup_.main;
  request.purpose = "control";
  request.sampling.seed = request.sampling.seed.value_or(0) + 1;
  auto answer = co_await ask(around_.model, std::move(request));
  --side_tasks_;
  fork_ended_.set();
  if (!answer) co_return;
  auto kernel = extract_kernel({.text = answer->content,
                                .finish = answer->reason,
                                .backend = setup_.backend,
                                .parent = parent_for_diffs(),
                                .answer_start = {}});
  if (!kernel) co_return;
  found({.source = std::move(kernel->source),
         .origin = Origin::main,
         .trigger = "control",
         .is_python = kernel->is_python,
         .shadow = true});
}

void Iteration::answer_is_whole(const Ended& ended) {
  report_.tokens = ended.usage.completion_tokens;
  if (is_study()) begin_study();
  if (setup_.speculation.harvest) {
    kernels_.clear();
    harvester_.finish(kernels_);
    for (HarvestedKernel& kernel : kernels_) {
      found({.source = std::move(kernel.source),
             .origin = Origin::harvest,
             .prefix_tokens = trace_.tokens(),
             .prefix_bytes = trace_.text().size(),
             .is_python = kernel.is_python,
             .shadow = is_study()});
    }
  }
  auto kernel =
      extract_kernel({.text = answer_,
                      .finish = ended.reasons.empty() ? FinishReason::other : ended.reasons.front(),
                      .backend = setup_.backend,
                      .parent = parent_for_diffs(),
                      .answer_start = {}});
  if (!kernel) {
    report_.end = IterationEnd::no_kernel;
    report_.note = kernel.error().explanation;
    if (held_) found(*std::exchange(held_, std::nullopt));  // all that there is of it
    return;
  }
  report_.end = IterationEnd::answered;
  main_candidate_ = found({.source = std::move(kernel->source),
                           .origin = Origin::main,
                           .prefix_tokens = trace_.tokens(),
                           .prefix_bytes = trace_.text().size(),
                           .is_python = kernel->is_python});
}

std::optional<std::string_view> Iteration::parent_for_diffs() const {
  if (setup_.parent.empty()) return std::nullopt;
  return setup_.parent;
}

CandidateId Iteration::found(FoundKernel kernel) {
  ++unjudged_;
  std::size_t knows = kernel.prefix_bytes;
  CandidateId id = around_.sink.found(setup_.id, std::move(kernel));
  knows_[id] = knows;
  return id;
}

std::int64_t Iteration::tokens_before(std::size_t offset) const {
  std::size_t whole = trace_.text().size();
  if (offset >= whole) return trace_.tokens();
  double share = static_cast<double>(offset) / static_cast<double>(whole);
  return static_cast<std::int64_t>(share * static_cast<double>(trace_.tokens()));
}

bool Iteration::is_hopeless() const {
  return setup_.speculation.early_stop && !is_study() && around_.gate.is_hopeless(failures_);
}

// Feedback is in hand, and little is to be hoped for.
bool Iteration::has_had_its_chance() const {
  if (!has_feedback_ || good_.value || !setup_.speculation.early_stop || is_study()) return false;
  const auto usual = static_cast<double>(around_.sink.tokens_for_a_good_one());
  const double most = around_.gate.settings().settle_after * usual;
  return most > 0 && static_cast<double>(trace_.tokens()) > most;
}

bool Iteration::take(const CandidateNews& news) {
  --unjudged_;
  if (news.id == main_candidate_) main_judged_ = true;
  has_feedback_ |= news.has_feedback;
  if (!news.failed && !news.repeated) {
    failures_ = 0;
  } else if (!news.failed) {
    // That a known kernel works is no news. Where it was to be a mended one, the failure stands, unless it is this
    // iteration's own that it is equal to.
    if (news.is_mended && !has_feedback_ && around_.gate.failure_tells(news.origin)) ++failures_;
  } else if (is_worth_mending(news) && begin_mending(news.id)) {
    // Whether it counts as a failure is told by what comes of that.
  } else if (around_.gate.failure_tells(news.origin)) {
    ++failures_;
  }
  if (!setup_.speculation.early_stop || is_study()) return false;
  if (news.good_enough && !good_.value) {
    good_ = news.id;
    good_since_ = trace_.text().size();
  }
  if (!good_.value) return false;
  // While only the baseline is to be beaten, what was decided since is worth a look, one way or the other, before the
  // reasoning is thrown away: the first kernel is what the search goes on from.
  if (news.is_first && knows_[news.id] + kCutBefore < decided_at_) return false;
  report_.by = news.good_enough ? news.id : good_;
  return true;
}

void Iteration::end_with(IterationEnd end, std::string note) {
  over_ = true;
  report_.end = end;
  report_.note = std::move(note);
  forks_.cancel();
  if (end == IterationEnd::stopped && around_.loop.random().chance(setup_.speculation.shadow)) {
    report_.shadow = std::move(main_);
  }
  main_.reset();  // on the wire, now
}

}  // namespace specgen
