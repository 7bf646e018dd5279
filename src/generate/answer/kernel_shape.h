#pragma once
// Decides by its shape, without a compiler, whether a piece of code is a complete kernel or a snippet.
// Answers and harvested drafts are chosen by this. A wrong guess costs an evaluation or loses a candidate, so
// the criteria are few: the entry point of the backend, with a body, and balanced braces. Pure, linear.

#include <string_view>

namespace specgen {

struct KernelShape {
  bool native =
      false;  // extern "C" function with a body (cpu); __global__ and specgen:launch (cuda)
  bool python = false;   // a ModelNew class
  bool cut_off = false;  // more opening than closing braces
  bool elided = false;   // has a placeholder such as "// ... rest as before"

  bool is_kernel() const { return native || python; }
};

KernelShape shape_of(std::string_view code, std::string_view backend);  // "cpu" or "cuda"

// Whether a text without fences is code from its first line to its last.
bool looks_like_code_alone(std::string_view text);

}  // namespace specgen
