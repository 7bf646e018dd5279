#pragma once
// What the author makes of feedback: which decisions were tried, what they gave, and what to try next. It
// climbs: from the best kernel so far it changes one or two decisions at a time, to choices that are untried
// or that went with the faster kernels, and stays away from combinations that failed by themselves.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "generate/author/decisions_text.h"
#include "generate/author/kernel_plan.h"
#include "generate/prompt_context.h"

namespace specgen {

struct Trial {
  Decisions made;  // every decision of the plan
  bool ok = false;
  double speedup = 0;   // of one that is ok
  std::string mistake;  // why it failed, if the fault was not in the decisions
  std::string verdict;
};

// The feedback on kernels of the author's, oldest first. Those of others are left out, and verdicts that
// are about the machine and not about the kernel.
std::vector<Trial> trials_of(const KernelPlan& plan, const PromptContext& context);

const Trial* best_of(const std::vector<Trial>& trials);  // null if none is ok

// What the decisions were worth when they were tried: the mean logarithm of the speedup with this choice
// less that without it. Nothing if there is no such comparison.
std::optional<double> worth_of(const std::vector<Trial>& trials, std::string_view name,
                               std::string_view value);

// Every decision of the plan, as this iteration should end.
Decisions next_goal(const KernelPlan& plan, const PromptContext& context, Random& random);

// With the first choice for what is not decided.
Decisions completed(const KernelPlan& plan, Decisions made);

}  // namespace specgen
