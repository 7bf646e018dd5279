// SpecGen's own search: one generation at a time, each prompt from all that is known by then.

#include "search/workflows/refine_policy.h"

namespace specgen {

Task<Result<void>> refine(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief) {
  RefinePolicy policy(context, setup.prompts, brief);
  while (context.may_continue()) CO_TRY(co_await context.write_kernel(policy.next()));
  co_return Result<void>();
}

}  // namespace specgen
