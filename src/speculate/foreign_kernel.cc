#include "speculate/foreign_kernel.h"

#include <algorithm>

#include "base/text.h"

namespace specgen {
namespace {

// A function or class at the left edge that is no Triton function itself.
bool has_launcher(std::string_view code) {
  bool is_device_code = false;  // what the decorators before a definition say
  while (!code.empty()) {
    std::string_view line = first_line(code);
    code.remove_prefix(std::min(line.size() + 1, code.size()));
    if (line.starts_with('@')) {
      is_device_code = is_device_code || line.starts_with("@triton.jit");
    } else if (line.starts_with("def ") || line.starts_with("class ")) {
      if (!is_device_code) return true;
      is_device_code = false;
    }
  }
  return false;
}

}  // namespace

bool is_foreign_kernel(std::string_view code) {
  bool is_triton = code.contains("@triton.jit") && code.contains("import triton");
  bool is_inline_cuda = code.contains("load_inline(") && code.contains("__global__");
  if (is_triton || is_inline_cuda) return has_launcher(code);
  return code.contains("__global__") && code.contains("<<<") && code.contains("#include");
}

}  // namespace specgen
