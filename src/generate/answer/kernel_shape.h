#pragma once
// What a piece of code looks like, before a compiler sees it: is it all of a kernel, or a snippet of one?
// Answers and harvested drafts are chosen by this. Wrong guesses cost an evaluation, or a candidate, so
// it asks for little: the entry that the backend needs, with a body, and braces that balance. Pure, linear.

#include <string_view>

namespace specgen {

struct KernelShape {
  bool native =
      false;  // extern "C" function with a body (cpu); __global__ and specgen:launch (cuda)
  bool python = false;   // a ModelNew class
  bool cut_off = false;  // more braces are opened than closed
  bool elided = false;   // "// ... rest as before": not meant to be compiled

  bool is_kernel() const { return native || python; }
};

KernelShape shape_of(std::string_view code, std::string_view backend);  // "cpu" or "cuda"

// Whether text without any fence is code from its first line to its last.
bool looks_like_code_alone(std::string_view text);

}  // namespace specgen
