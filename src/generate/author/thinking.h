#pragma once
// The author's reasoning aloud: it reads the feedback, settles one decision after another with reasons from
// the plan, considers alternatives, changes its mind, writes whole drafts, and goes on for a while after the
// last decision. A draft is the kernel that kernel_after() gives for the text before it.

#include <cstdint>
#include <string>
#include <string_view>

#include "generate/author/author_kernel.h"
#include "generate/author/author_options.h"

namespace specgen {

// For roles that write a kernel. `so_far`: reasoning that the text goes on from; it is not repeated.
std::string think_of_kernel(const Assignment& assignment, const AuthorOptions& options,
                            std::string_view so_far = {});

// For roles that give advice about the prompt's parent.
std::string think_of_advice(const Assignment& assignment, const AuthorOptions& options);

// "cpp" or "cuda": what fences of this backend's kernels are marked with.
std::string_view fence_language(std::string_view backend);

// What others wrote, on one line and short, without marks that could be taken for decisions or fences.
std::string quoted(std::string_view text);

}  // namespace specgen
