#pragma once
// Makes one call of a candidate under a profiler: this same program called as
// `PROGRAM internal-cuda-executor-once FOLDER`, with the job that counters.h has written there.

#include <span>
#include <string>

namespace specgen {

inline constexpr const char* kInternalCudaOnce = "internal-cuda-executor-once";
int run_internal_cuda_executor_once(std::span<const std::string> arguments);

}  // namespace specgen
