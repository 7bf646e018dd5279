#pragma once
// The process in which a candidate's kernels run: this same program called as
// `PROGRAM internal-cuda-executor DEVICE`, with a message socket as descriptor 3. It makes a
// context, reports that it is ready and serves one candidate (executor_protocol.h). It runs no host
// code of a candidate and holds no secrets: no seed, no expected value.

#include <span>
#include <string>

namespace specgen {

inline constexpr const char* kInternalCudaExecutor = "internal-cuda-executor";
int run_internal_cuda_executor(std::span<const std::string> arguments);

}  // namespace specgen
