#include "speculate/fork_runner.h"

#include <utility>

#include "generate/answer/extract.h"

namespace specgen {

Request fork_request(const IterationSetup& setup, ReasoningPrefix prefix) {
  Request request = side_request(setup);
  request.prefix = std::move(prefix);
  if (!setup.wants_diff) {  // only code: nothing before it, nothing after it
    request.answer_start = setup.backend == "cuda" ? "```cuda\n" : "```cpp\n";
    request.stop = {"\n```"};
  }
  return request;
}

std::optional<FoundKernel> kernel_of_fork(const IterationSetup& setup, const Answer& answer,
                                          std::string trigger, std::size_t prefix_bytes,
                                          const StreamFollower& stream) {
  const std::string start = fork_request(setup, {}).answer_start;
  auto kernel = extract_kernel({.text = answer.content,
                                .finish = answer.reason,
                                .backend = setup.backend,
                                .parent = setup.parent_for_diffs(),
                                .answer_start = start,
                                .stops_at_fence = !setup.wants_diff});
  if (!kernel) return std::nullopt;
  return FoundKernel{.source = std::move(kernel->source),
                     .origin = Origin::fork,
                     .trigger = std::move(trigger),
                     .prefix_tokens = stream.tokens_before(prefix_bytes),
                     .prefix_bytes = prefix_bytes,
                     .is_python = kernel->is_python};
}

ForkRunner::ForkRunner(const IterationContext& context, const IterationSetup& setup,
                       const StreamFollower& stream, SideGenerations& generations,
                       OnKernel on_kernel)
    : context_(context),
      setup_(setup),
      stream_(stream),
      generations_(generations),
      on_kernel_(std::move(on_kernel)) {}

void ForkRunner::add_draft(std::size_t end) {
  context_.gate.harvested(stream_.reasoning().tokens());
  last_offset_ = end;
}

void ForkRunner::add_repeated_draft() {
  context_.gate.harvested(stream_.reasoning().tokens());
}

void ForkRunner::consider(const Trigger& trigger) {
  auto refusal = context_.gate.ask(trigger, view_of(trigger));
  if (!refusal) return fork_at(trigger);
  ++refusals_[static_cast<std::size_t>(*refusal)];
  if (is_temporary(*refusal)) waiting_ = trigger;
}

// Without this the last decision of a short stream, the one that counts, would often be skipped for being too close to
// the one before. Of several waiting triggers the latest has the most reasoning before it.
void ForkRunner::reconsider_waiting() {
  if (!waiting_) return;
  auto refusal = context_.gate.ask_again(*waiting_, view_of(*waiting_));
  if (refusal && is_temporary(*refusal)) return;
  Trigger trigger = *std::exchange(waiting_, std::nullopt);
  if (!refusal) fork_at(trigger);
}

GateView ForkRunner::view_of(const Trigger& trigger) const {
  std::int64_t tokens = stream_.reasoning().tokens();
  return {.tokens = tokens,
          .new_bytes = trigger.offset > last_offset_ ? trigger.offset - last_offset_ : 0,
          .forks_in_flight = generations_.in_flight(),
          .forks_this_iteration = forks_,
          .tokens_left = context_.sink.may_spend(kUsualAnswerTokens + tokens) ? -1 : 0,
          .fork_cost = kUsualAnswerTokens,
          .load = context_.sink.load()};
}

void ForkRunner::fork_at(const Trigger& trigger) {
  waiting_.reset();
  ReasoningPrefix prefix = stream_.reasoning().prefix(trigger.offset);
  if (prefix.text.empty()) return;  // no safe place to cut
  context_.gate.forked(stream_.reasoning().tokens());
  const std::size_t cut = prefix.text.size();
  last_offset_ = cut;
  ++forks_;
  std::string name =
      trigger.pattern ? trigger.pattern->name : std::string(to_string(trigger.category));
  generations_.start(fork_request(setup_, std::move(prefix)),
                     [this, name, cut](const Answer* answer) {
                       if (!answer) return;
                       auto kernel = kernel_of_fork(setup_, *answer, name, cut, stream_);
                       if (!kernel) return context_.gate.add_fork_result(false, false);
                       on_kernel_(std::move(*kernel));
                     });
}

}  // namespace specgen
