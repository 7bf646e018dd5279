// SpecGen's own search: one generation at a time, each prompt from all that is known by then.

#include "search/workflows/refine_policy.h"

namespace specgen {

Task<Result<void>> refine(Lab& lab, WorkflowSetup setup, TaskBrief brief) {
  RefinePolicy policy(lab, setup.prompts, brief);
  while (lab.may_go_on()) CO_TRY(co_await lab.write_kernel(policy.next()));
  co_return Result<void>();
}

}  // namespace specgen
