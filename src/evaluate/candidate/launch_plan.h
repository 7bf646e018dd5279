#pragma once
// A CUDA candidate's directives evaluated for one case: exactly what the executor does. All limits are checked here, in
// the judge, before anything is launched.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluate/candidate/directives.h"
#include "evaluate/task/cases.h"

namespace specgen {

// What a device allows; sm_90 by default so that plans can be checked without a GPU.
struct LaunchLimits {
  std::int64_t threads_per_block = 1024;
  std::array<std::int64_t, 3> block{1024, 1024, 64};
  std::array<std::int64_t, 3> grid{2147483647, 65535, 65535};
  std::int64_t shared_bytes = 232448 - 1024;  // opt-in, per block
  std::int64_t cluster_blocks = 8;
  std::int64_t scratch_bytes = std::int64_t{8} << 30;
};

struct PlannedArgument {
  enum class Kind : std::uint8_t { pointer, integer, real, tensormap } kind = Kind::integer;
  std::size_t buffer = 0;    // pointer: index over inputs, outputs, scratch; tensormap: its index
  std::int64_t integer = 0;  // pointer: offset in bytes
  double real = 0;
};

struct PlannedLaunch {
  std::string name_expression;  // for NVRTC: "row_max<128>"
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  std::array<unsigned, 3> cluster{0, 0, 0};  // zero: none
  unsigned shared_bytes = 0;
  bool cooperative = false;
  std::vector<PlannedArgument> arguments;
};

struct PlannedTensormap {
  std::size_t buffer = 0;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> dimensions;  // innermost first, as in the driver's API
  std::vector<std::uint32_t> box;
  int swizzle = 0;
};

struct LaunchPlan {
  std::vector<std::size_t> scratch_bytes;   // one per scratch, after the task's tensors; never 0
  std::vector<std::size_t> zeroed_buffers;  // outputs and scratch, set to zero before every call
  std::vector<PlannedTensormap> tensormaps;
  std::vector<PlannedLaunch> launches;
};

// The kernels that NVRTC must instantiate, each once: "row_max<128>". Template arguments use tunables, not
// axes, so one binary serves every case.
Accepted<std::string> name_expression(const LaunchSpec& launch, const Values& tunables);
Accepted<std::vector<std::string>> name_expressions(const Directives& directives,
                                                    const Values& tunables);

// Expressions may use axes, tunables and sizeof_T. A message about a hidden case names the expression and
// never a number
// of it.
Accepted<LaunchPlan> resolve(const Directives& directives, const KernelTask& task, const Case& at,
                             const Values& tunables, const LaunchLimits& limits);

// CPU: the bytes of the one scratch buffer, 0 without one. Directives for CUDA are refused.
Accepted<std::size_t> resolve_scratch(const Directives& directives, const Case& at,
                                      const Values& tunables, const LaunchLimits& limits = {});

// bad_message for anything that to_json() does not write.
Json to_json(const LaunchPlan& plan);
Result<LaunchPlan> launch_plan_from_json(const Json& json);

}  // namespace specgen
