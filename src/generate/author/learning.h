#pragma once
// The author's use of feedback: which decisions were tried, with what result, and what to try next. A hill climber:
// from the best kernel so far it changes one or two decisions at a time, to choices that are untried or occurred in
// faster kernels, and avoids combinations that failed without a slip. Pure functions.

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
  double speedup = 0;   // 0 unless ok
  std::string mistake;  // in the kernel, if it failed for that and not for its decisions
  std::string verdict;
};

// The feedback on kernels by the author, oldest first. Other kernels are omitted, and so are verdicts that are
// about the machine and not about the kernel.
std::vector<Trial> trials_of(const KernelPlan& plan, const PromptContext& context);

const Trial* best_of(const std::vector<Trial>& trials);  // null if none is ok

// The value of a choice: the mean logarithm of the speedup with it minus that without it. nullopt if only one of
// the two was tried.
std::optional<double> worth_of(const std::vector<Trial>& trials, std::string_view name,
                               std::string_view value);

// The decisions that this iteration should arrive at.
Decisions next_goal(const KernelPlan& plan, const PromptContext& context, Random& random);

// With the first choice for every open decision.
Decisions completed(const KernelPlan& plan, Decisions made);

}  // namespace specgen
