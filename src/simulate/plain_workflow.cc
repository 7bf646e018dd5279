#include "simulate/plain_workflow.h"

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kShown = 3;  // of the latest kernels

PromptFeedback feedback_of(const KnownKernel& kernel) {
  return {.source = {},
          .verdict = std::string(to_string(kernel.verdict)),
          .speedup = kernel.profiled ? kernel.speedup.median : 0,
          .evidence = kernel.feedback};
}

Prompt next_prompt(Lab& lab) {
  const std::vector<KnownKernel>& history = lab.history();
  Prompt prompt;
  prompt.context.task = lab.task().name;
  prompt.context.backend = lab.task().backend;
  prompt.context.iteration = lab.iterations_begun();
  const KnownKernel* best = nullptr;
  for (const KnownKernel& kernel : history) {
    bool counts = kernel.profiled && kernel.verdict == Verdict::ok;
    if (counts && (!best || kernel.speedup.median > best->speedup.median)) best = &kernel;
  }
  if (best) {
    prompt.parent = best->id;
    prompt.context.feedback.push_back(feedback_of(*best));
  }
  for (std::size_t i = history.size() - std::min(kShown, history.size()); i < history.size(); ++i) {
    if (&history[i] != best) prompt.context.feedback.push_back(feedback_of(history[i]));
  }
  prompt.messages.push_back(
      {Speaker::user, "Write a faster kernel.\n\n" + to_prompt_block(prompt.context)});
  return prompt;
}

}  // namespace

Task<Result<void>> plain_workflow(Lab& lab) {
  while (lab.may_go_on()) CO_TRY(co_await lab.write_kernel(next_prompt(lab)));
  co_return Result<void>();
}

}  // namespace specgen
