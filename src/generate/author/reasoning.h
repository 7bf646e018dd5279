#pragma once
// The author's synthetic reasoning: it reads the feedback, makes one decision after another with reasons from
// the plan, considers alternatives, revises decisions, writes complete drafts, and continues for a while after the
// last decision. A draft is the kernel that kernel_after() returns for the text before it. Pure functions: the
// same assignment and options give the same text.

#include <cstdint>
#include <string>
#include <string_view>

#include "generate/author/author_kernel.h"
#include "generate/author/author_options.h"

namespace specgen {

// For roles that write a kernel. The text continues `so_far`, which is not repeated.
std::string reason_about_kernel(const Assignment& assignment, const AuthorOptions& options,
                                std::string_view so_far = {});

// For roles that give advice about the prompt's parent.
std::string reason_about_advice(const Assignment& assignment, const AuthorOptions& options);

// "cpp" or "cuda": the language tag of fenced kernels of this backend.
std::string_view fence_language(std::string_view backend);

// Text of another author on one line, shortened, without marks that could be taken for decisions or fences.
std::string quoted(std::string_view text);

}  // namespace specgen
