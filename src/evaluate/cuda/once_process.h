#pragma once
// One call of a candidate and nothing else, for a profiler that looks on: this same program called
// as `PROGRAM internal-cuda-executor-once FOLDER`, with what counters.h has put there.

#include <span>
#include <string>

namespace specgen {

inline constexpr const char* kInternalCudaOnce = "internal-cuda-executor-once";
int run_internal_cuda_executor_once(std::span<const std::string> words);

}  // namespace specgen
