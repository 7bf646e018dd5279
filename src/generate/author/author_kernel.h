#pragma once
// The kernel that follows from a prefix of the reasoning: its decisions, on top of those of the parent kernel in the
// prompt, and perhaps a mistake. A pure function: the same reasoning gives the same kernel as a draft, a fork and the
// final answer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "generate/author/decisions_text.h"
#include "generate/author/kernel_plan.h"
#include "generate/prompt_context.h"

namespace specgen {

// The task of one answer. Its references outlive it.
struct Assignment {
  const PromptContext& context;
  const KernelPlan& plan;
  double mistake_rate;
  std::uint64_t draw;  // seeds its randomness: a hash of options, prompt, request and choice
};

struct WrittenKernel {
  std::string source;
  Decisions made;
  std::string mistake;  // empty: the kernel is correct
};

WrittenKernel kernel_after(const Assignment& assignment, std::string_view reasoning);

// The probability that a statement about a possible mistake is a false belief. Chosen so that a kernel has a mistake
// at the same rate wherever the reasoning is cut.
double belief_rate(const Assignment& assignment);

// The decisions of the prompt's parent kernel, as far as the plan knows them.
Decisions starting_decisions(const KernelPlan& plan, const PromptContext& context);

inline constexpr std::string_view kSyntaxSlip = "syntax_slip";

// The mistake in a kernel by the author: its name, or empty if there is none. nullopt if the kernel is by another
// author.
std::optional<std::string> mistake_in(const KernelPlan& plan, std::string_view source);

Random random_from(std::uint64_t draw, std::string_view purpose);

}  // namespace specgen
