#pragma once
// Device code for a GPU that gives the same bits as data.h, dtype.h's poison and judge/compare.h on the host, so that
// tensors are filled and compared where they are. NVRTC compiles it without
// includes and without fast-math or -ftz=true, which would change the bits. All kernels work with any
// grid; dtype and kind are the values of the enums.
//
//   specgen_fill(void* tensor, int dtype, long long elements, int kind, double a, double b,
//                unsigned long long seed)
//   specgen_poison(void* tensor, int dtype, long long elements, unsigned long long secret)
//   specgen_compare(const void* got, int dtype, const long long* at, long long first,
//                   long long count, const double* value, const double* scale,
//                   double scale_factor, double value_factor, double floor, double overflow,
//                   unsigned long long secret, OutputReport* blocks)
//   specgen_compare_baseline(const void* got, const void* baseline, int dtype, long long first,
//                   long long count, double scale, double scale_factor, double value_factor,
//                   double floor, double overflow, unsigned long long secret, OutputReport* blocks)
//
// `got` and `baseline` are whole tensors. Element j of value and scale belongs to element at[j], or
// first + j where at is null. The four factors are bounds_of() or baseline_bounds_of() of compare.h. Every
// block writes one OutputReport, which the host merges; blocks have at most kCompareThreads threads.

#include <string_view>

namespace specgen {

inline constexpr int kCompareThreads = 256;
extern const std::string_view kInputKernelSource;  // ends with a zero byte

}  // namespace specgen
