#pragma once
// The search policies that ship. Each reads like the algorithm it is named after and knows only its WorkflowContext.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "search/prompt_store.h"
#include "search/run.h"
#include "search/workflow.h"
#include "search/workflows/map_elites.h"

namespace specgen {

struct WorkflowSetup {  // outlives the workflow
  const PromptStore& prompts;
  const std::vector<TaskBrief>& briefs;  // in the order of the run's tasks
  EvolutionSettings evolution = {};      // alphaevolve's
};

// SpecGen's own: the best kernel so far and what was learned lately go into every prompt.
Task<Result<void>> refine(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief);
// CudaForge: a coder and a judge take turns on one chain of kernels; repair what fails, optimise what works.
Task<Result<void>> cudaforge(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief);
// AlphaEvolve as OpenEvolve does it: islands, MAP-elites, inspirations, diffs, migration.
Task<Result<void>> alphaevolve(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief);
// KernelAgent: parallel seeds until one passes, then a beam with bottleneck analysis and reflexion.
Task<Result<void>> kernelagent(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief);

// The paper's other technique, for comparisons: refine, with two full generations at once from one prompt's knowledge,
// both of whose results are taken. Each of the two is an iteration of the run; the two together are a round.
Task<Result<void>> dispatch2(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief);

std::vector<std::string> workflow_names();
Result<Workflow> find_workflow(std::string_view name, WorkflowSetup setup);  // unknown_name

}  // namespace specgen
