#pragma once
// The judge's own kernels as sources for NVRTC. They need no header, so that any toolkit compiles
// them.
//   kJudgeKernelSource: digests, and the pattern in the slack around a tensor. Launched in the
//     judge's own context, where no candidate ever runs. Drawing, poisoning and comparing are in
//     task/data_cuda_source.h.
//   kExecutorKernelSource: what the executor needs besides a candidate: a gate that holds the stream
//     until a batch is queued, and a sum whose result is known.

#include <string_view>

namespace specgen {

// extern "C" __global__:
//   specgen_digest(const void* bytes, long long count, u64* per_block)
//   specgen_fill_slack(void* memory, long long size, long long offset, long long bytes, u64 secret)
//   specgen_check_slack(the same, u64* changed)     changed[0]: bytes, changed[1]: the first, by min
// Blocks of 256 threads, any grid.
extern const std::string_view kJudgeKernelSource;
inline constexpr unsigned kJudgeBlock = 256;

//   specgen_gate(const volatile unsigned* ticket, unsigned wanted, u64 max_ns)   <<<1, 1>>>
//   specgen_sum(u64* into, unsigned numbers)                                      <<<1, 256>>>
extern const std::string_view kExecutorKernelSource;

}  // namespace specgen
