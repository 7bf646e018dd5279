// Dispatch K, for K = 2: what SpecGen is measured against besides other workflows. Two full generations think at once,
// neither knows of the other, and the next round begins when both have come to their end. Prompts are those of refine,
// so that only this differs. A round is two iterations of the run: who compares by rounds gives it twice the
// iterations.

#include "search/workflows/refine_policy.h"

namespace specgen {

Task<Result<void>> dispatch2(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief) {
  RefinePolicy policy(context, setup.prompts, brief);
  while (context.may_continue()) {
    std::vector<Prompt> prompts;
    prompts.push_back(policy.next());
    prompts.push_back(policy.next());
    CO_TRY(co_await context.write_kernels(std::move(prompts), false));
  }
  co_return Result<void>();
}

}  // namespace specgen
