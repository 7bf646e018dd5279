// CudaForge (arXiv 2511.01884): a coder and a judge, the same model in two roles, on one chain of kernels without
// memory. Each round the judge reads the newest kernel: what is wrong if it failed, else its profile and one bottleneck
// with one change; the coder repairs or optimises. The chain moves on to the newest kernel even if it is slower or
// broken.
//
// With speculation the newest kernel is what its iteration came to (known.h). The published code profiles the fastest
// kernel while it shows the judge the newest; here both are the newest, as in the paper.

#include <optional>

#include "search/workflows.h"
#include "search/workflows/kernel_queries.h"

namespace specgen {

Task<Result<void>> cudaforge(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief) {
  const PromptStore& prompts = setup.prompts;
  std::optional<KnownKernel> current;
  if (!context.history().empty()) current = *result_of(newest_iteration(context.history()));

  while (context.may_continue()) {
    Prompt prompt;
    if (!current) {
      prompt = prompts.make("cudaforge_seed", brief, new_request(context, "writer"));
    } else {
      bool failed = is_failure(*current);
      PromptRequest question = new_request(context, "judge", &*current);
      std::string advice = CO_TRY(co_await context.advise(prompts.make(
          failed ? "cudaforge_judge_repair" : "cudaforge_judge_optimise", brief, question)));
      if (!context.may_continue()) break;
      PromptRequest request = new_request(context, failed ? "repair" : "writer", &*current);
      request.advice = std::move(advice);
      prompt = prompts.make(failed ? "cudaforge_repair" : "cudaforge_optimise", brief, request);
    }
    IterationOutcome outcome = CO_TRY(co_await context.write_kernel(std::move(prompt)));
    if (const KnownKernel* newest = result_of(outcome.kernels)) current = *newest;
  }
  co_return Result<void>();
}

}  // namespace specgen
