#pragma once
// The kernel that follows from what has been thought so far: the decisions in the reasoning, on top of those
// of the kernel that the prompt wants improved, and perhaps a mistake. A pure function: whoever asks with the
// same reasoning gets the same kernel, be it a draft, a fork or the final answer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "generate/author/decisions_text.h"
#include "generate/author/kernel_plan.h"
#include "generate/prompt_context.h"

namespace specgen {

// What one answer is asked for. Refers to what outlives it.
struct Assignment {
  const PromptContext& context;
  const KernelPlan& plan;
  double mistake_rate;
  std::uint64_t draw;  // where its chance comes from: options, prompt, request and choice
};

struct WrittenKernel {
  std::string source;
  Decisions made;
  std::string mistake;  // empty: it is right
};

WrittenKernel kernel_after(const Assignment& assignment, std::string_view reasoning);

// The chance that a statement about what could go wrong is a false belief. Chosen so that a kernel is
// mistaken at the same rate wherever the reasoning is cut.
double belief_rate(const Assignment& assignment);

// The decisions that the prompt's parent was written with, as far as the plan knows them.
Decisions starting_decisions(const KernelPlan& plan, const PromptContext& context);

inline constexpr std::string_view kSyntaxSlip = "syntax_slip";

// The mistake in a kernel of the author's: its name, or empty if there is none. Nothing if the kernel is
// not the author's.
std::optional<std::string> mistake_in(const KernelPlan& plan, std::string_view source);

Random random_from(std::uint64_t draw, std::string_view purpose);

}  // namespace specgen
