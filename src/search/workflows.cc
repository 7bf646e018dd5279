#include "search/workflows.h"

#include <fmt/core.h>

#include <map>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

using Policy = Task<Result<void>> (*)(WorkflowContext&, WorkflowSetup, TaskBrief);

const std::map<std::string, Policy, std::less<>>& policies() {
  static const std::map<std::string, Policy, std::less<>> all{{"refine", refine},
                                                              {"cudaforge", cudaforge},
                                                              {"alphaevolve", alphaevolve},
                                                              {"kernelagent", kernelagent},
                                                              {"dispatch2", dispatch2}};
  return all;
}

}  // namespace

std::vector<std::string> workflow_names() {
  return {"refine", "cudaforge", "alphaevolve", "kernelagent", "dispatch2"};
}

Result<Workflow> find_workflow(std::string_view name, WorkflowSetup setup) {
  auto found = policies().find(name);
  if (found == policies().end()) {
    std::vector<std::string> names = workflow_names();
    return fail(ErrorCode::unknown_name,
                fmt::format("there is no workflow '{}'{}", name, did_you_mean(name, names)),
                "workflows are " + join(names, ", "));
  }
  return Workflow([policy = found->second, setup](WorkflowContext& context) {
    SG_ASSERT(context.task_number() < setup.briefs.size(), "there is a brief for every task");
    const TaskBrief& brief = setup.briefs[context.task_number()];
    context.repair_with([&prompts = setup.prompts, &brief](const KnownKernel& failed) {
      return prompts.make("mend", brief,
                          {.role = "mend", .seed = failed.id.value, .parent = &failed});
    });
    return policy(context, setup, brief);
  });
}

}  // namespace specgen
