#include "speculate/iteration.h"

#include <utility>

#include "generate/answer/extract.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxResults = 4096;  // more than the candidates of one iteration

Triggers* triggers_for(const IterationContext& context, const IterationSetup& setup) {
  return setup.speculation.forks ? context.triggers : nullptr;
}

}  // namespace

Iteration::Iteration(IterationContext context, IterationSetup setup)
    : context_(context),
      setup_(std::move(setup)),
      follower_(setup_.backend, setup_.speculation.harvest, triggers_for(context_, setup_)),
      side_generations_(context.loop, context.model),
      forks_(context_, setup_, follower_, side_generations_,
             [this](FoundKernel kernel) { submit(std::move(kernel)); }),
      repairs_(context_, setup_, follower_, side_generations_,
               [this](std::optional<FoundKernel> kernel) {
                 if (kernel) {
                   submit(std::move(*kernel));
                 } else {
                   ++progress_.failures;
                 }
               }),
      results_(context.loop, kMaxResults) {}

Iteration::~Iteration() = default;

std::unique_ptr<AbstractIteration> new_iteration(IterationContext context, IterationSetup setup) {
  return std::make_unique<Iteration>(context, std::move(setup));
}

void Iteration::add_result(const CandidateResult& result) {
  (void)results_.try_send(result);  // has a slot for every candidate
}

Task<IterationReport> Iteration::run() {
  context_.gate.begin_iteration();
  co_await start_stream();
  while (stream_ && !is_over_) {
    // Results first: one of them may make the rest of the reasoning needless.
    auto event = co_await race(context_.stop.wait(), results_.receive(), stream_->next());
    if (event.first()) {
      end_with({.end = IterationEnd::interrupted});
    } else if (auto* result = event.second()) {
      if (auto stop = take_result(**result)) end_with(std::move(*stop));
    } else {
      take_stream_event(std::move(*event.get<2>()));
    }
  }
  // The stream has ended. If its answer fails, drafts, forks and repairs may still bring feedback.
  while (!is_over_ && !is_settled()) {
    auto event =
        co_await race(context_.stop.wait(), results_.receive(), side_generations_.next_end());
    if (event.first()) {
      end_with({.end = IterationEnd::interrupted});
    } else if (auto* result = event.second()) {
      auto stop = take_result(**result);
      if (stop && stop->end == IterationEnd::stopped) break;  // nothing better is worth the wait
    }
  }
  side_generations_.cancel();
  co_return finished_report();
}

Task<void> Iteration::start_stream() {
  auto started = co_await race(context_.model.start(setup_.main), context_.stop.wait());
  if (started.second()) {
    end_with({.end = IterationEnd::interrupted});
  } else if (auto& stream = *started.first(); !stream) {
    end_with({.end = IterationEnd::failed, .note = stream.error().summary()});
  } else {
    stream_ = std::move(*stream);
  }
}

void Iteration::take_stream_event(Result<StreamEvent> event) {
  if (!event) {
    stream_failed(event.error());
    stream_.reset();
  } else if (auto* prompt = std::get_if<PromptTokens>(&*event)) {
    follower_.add(*prompt);
  } else if (auto* delta = std::get_if<Delta>(&*event)) {
    follow(*delta);
  } else {
    stream_ended(std::get<Ended>(*event));
    stream_.reset();
  }
}

void Iteration::follow(const Delta& delta) {
  if (auto stop = context_.stopping.after_bytes(follower_.bytes() + delta.text.size())) {
    return end_with(std::move(*stop));
  }
  StreamFindings& found = follower_.follow(delta);
  if (delta.kind == DeltaKind::content) return;
  if (auto stop = context_.stopping.after_reasoning(progress_, follower_.reasoning())) {
    return end_with(std::move(*stop));
  }
  submit_waiting_draft();
  if (found.has_repeated_draft) forks_.add_repeated_draft();
  for (HarvestedKernel& draft : found.drafts) submit_draft(std::move(draft));
  for (const Trigger& trigger : found.triggers) {
    if (trigger.category == TriggerCategory::decision_made) progress_.decision_at = trigger.offset;
    forks_.consider(trigger);
  }
  if (found.triggers.empty()) forks_.reconsider_waiting();
}

void Iteration::stream_ended(const Ended& ended) {
  report_.tokens = ended.usage.completion_tokens;
  const std::int64_t tokens = follower_.reasoning().tokens();
  const std::size_t bytes = follower_.reasoning().text().size();
  for (HarvestedKernel& draft : follower_.finish().drafts) {
    submit({.source = std::move(draft.source),
            .origin = Origin::harvest,
            .prefix_tokens = tokens,
            .prefix_bytes = bytes,
            .is_python = draft.is_python});
  }
  auto kernel =
      extract_kernel({.text = follower_.answer(),
                      .finish = ended.reasons.empty() ? FinishReason::other : ended.reasons.front(),
                      .backend = setup_.backend,
                      .parent = setup_.parent_for_diffs(),
                      .answer_start = {}});
  if (!kernel) {
    report_.end = IterationEnd::no_kernel;
    report_.note = kernel.error().explanation;
    if (pending_.draft) submit(*std::exchange(pending_.draft, std::nullopt));
    return;
  }
  report_.end = IterationEnd::answered;
  pending_.answer = submit({.source = std::move(kernel->source),
                            .origin = Origin::main,
                            .prefix_tokens = tokens,
                            .prefix_bytes = bytes,
                            .is_python = kernel->is_python});
}

// The drafts of a broken stream are as good as any.
void Iteration::stream_failed(const Error& error) {
  report_.end = IterationEnd::failed;
  report_.note = error.summary();
  if (pending_.draft) submit(*std::exchange(pending_.draft, std::nullopt));
}

std::optional<Stop> Iteration::take_result(const CandidateResult& result) {
  --pending_.results;
  if (result.id == pending_.answer) pending_.answer = {};
  bool is_being_repaired = result.failed && repairs_.start(result, progress_);
  return context_.stopping.after_result(progress_, result, is_being_repaired,
                                        follower_.reasoning().text().size());
}

void Iteration::submit_draft(HarvestedKernel draft) {
  forks_.add_draft(draft.end);
  pending_.draft = FoundKernel{.source = std::move(draft.source),
                               .origin = Origin::harvest,
                               .prefix_tokens = follower_.reasoning().tokens(),
                               .prefix_bytes = draft.end,
                               .is_python = draft.is_python};
  submit_waiting_draft();
}

// The first draft is evaluated however busy the devices are, and so is any draft while nothing else of the iteration is
// being evaluated: a draft costs no tokens and is the earliest feedback on this reasoning.
void Iteration::submit_waiting_draft() {
  if (!pending_.draft) return;
  bool may_wait = pending_.has_submitted_draft && pending_.results > 0;
  if (may_wait && !context_.gate.has_capacity(context_.sink.load())) return;
  pending_.has_submitted_draft = true;
  submit(*std::exchange(pending_.draft, std::nullopt));
}

CandidateId Iteration::submit(FoundKernel kernel) {
  ++pending_.results;
  return context_.sink.submit(setup_.id, std::move(kernel));
}

bool Iteration::is_settled() const {
  if (pending_.answer.value) return false;
  return progress_.has_feedback || (pending_.results == 0 && side_generations_.in_flight() == 0);
}

void Iteration::end_with(Stop stop) {
  is_over_ = true;
  report_.end = stop.end;
  report_.by = stop.by;
  report_.note = std::move(stop.note);
  side_generations_.cancel();
  bool is_shadowed =
      stop.end == IterationEnd::stopped && context_.loop.random().chance(setup_.speculation.shadow);
  if (is_shadowed) report_.shadow = std::move(stream_);
  stream_.reset();  // cancels it on the wire
}

IterationReport Iteration::finished_report() {
  if (!report_.tokens) {
    report_.tokens = follower_.reasoning().tokens() + estimate_tokens(follower_.answer());
  }
  report_.refusals = forks_.refusals();
  report_.reasoning = follower_.reasoning().text();
  return std::move(report_);
}

}  // namespace specgen
