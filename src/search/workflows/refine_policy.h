#pragma once
// Which prompt SpecGen's own search asks next, from what is known by then. Shared by the workflows that differ only in
// how many generations they have at once. Private to this module.

#include <string>
#include <string_view>

#include "search/workflows.h"

namespace specgen {

class RefinePolicy {
 public:
  // All outlive the policy.
  RefinePolicy(WorkflowContext& context, const PromptStore& prompts, const TaskBrief& brief)
      : context_(context), prompts_(prompts), brief_(brief) {}

  Prompt next();

 private:
  Prompt until_one_works();
  Prompt from_another();
  Prompt make(std::string_view name, std::string role, const KnownKernel* parent);

  WorkflowContext& context_;
  const PromptStore& prompts_;
  const TaskBrief& brief_;
};

}  // namespace specgen
