#include "speculate/repair_runner.h"

#include <string>
#include <string_view>
#include <utility>

#include "generate/answer/extract.h"

namespace specgen {

RepairRunner::RepairRunner(const IterationContext& context, const IterationSetup& setup,
                           const StreamFollower& stream, SideGenerations& generations,
                           OnRepaired on_repaired)
    : context_(context),
      setup_(setup),
      stream_(stream),
      generations_(generations),
      on_repaired_(std::move(on_repaired)) {}

// The main answer is repaired only if the iteration has no feedback yet: there is no reasoning left to be stopped.
bool RepairRunner::is_worth_repairing(const CandidateResult& failed,
                                      const IterationProgress& progress) const {
  if (!setup_.speculation.forks || failed.repeated || failed.is_repair) return false;
  if (failed.origin == Origin::main && progress.has_feedback) return false;
  return repairs_ < setup_.speculation.max_repairs && !progress.winner.value;
}

bool RepairRunner::start(const CandidateResult& failed, const IterationProgress& progress) {
  if (!is_worth_repairing(failed, progress)) return false;
  std::optional<RepairPrompt> prompt = context_.sink.repair_prompt(failed.id);
  if (!prompt) return false;
  Request request = side_request(setup_);
  for (Message& message : prompt->messages) request.messages.push_back(std::move(message));
  std::int64_t prompt_tokens = estimate_tokens(request.messages.back().text);
  if (!context_.sink.may_spend(kUsualAnswerTokens + prompt_tokens)) return false;
  ++repairs_;
  generations_.start(
      std::move(request), [this, id = failed.id, prefix_bytes = failed.prefix_bytes,
                           source = std::move(prompt->source)](const Answer* answer) {
        auto kernel = extract_kernel({.text = answer ? std::string_view(answer->content) : "",
                                      .finish = answer ? answer->reason : FinishReason::other,
                                      .backend = setup_.backend,
                                      .parent = source,
                                      .answer_start = {}});
        if (!kernel) return on_repaired_(std::nullopt);
        on_repaired_(FoundKernel{.source = std::move(kernel->source),
                                 .origin = Origin::fork,
                                 .trigger = "repair",
                                 .prefix_tokens = stream_.tokens_before(prefix_bytes),
                                 .prefix_bytes = prefix_bytes,
                                 .is_python = kernel->is_python,
                                 .repairs = id});
      });
  return true;
}

}  // namespace specgen
