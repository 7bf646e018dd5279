#pragma once
// Input data by counter: element i of a tensor is a pure function of (seed, i). So the same bits
// result on any CPU and, by kInputKernelSource, on a GPU, and nothing has to be copied.
//
// In IEEE arithmetic, every operation rounded separately (no fused multiply-add), where
// Real is double for f64 and float for every other dtype:
//   h = counter_hash(seed, i)                                   counter_hash.h
//   normal(a, b):           k = sum of h's four 16-bit parts - 131070,
//                           Real(k) * Real(b / 37837.22724) + Real(a)
//   heavy(a):               Real(k) * Real(a / 37837.22724) * 2^e, k as above,
//                           e = (high 32 bits of (h * 0xd1342543de82ef95)) * 13 / 2^32 - 6
//   uniform, positive(a, b): k = h >> 40 (f64: h >> 11),
//                           Real(k) * (Real(b - a) * 2^-24 (f64: 2^-53)) + Real(a)
//   integers(a, b):         int64(a) + high 64 bits of (h * uint64(b - a)): a <= x < b
//   signs():                -1 + 2 * high 64 bits of (h * 2)
// The quotient and the difference of a and b are taken in double. The result is rounded once more,
// to nearest even, to the tensor's dtype; a uniform number may become b by that. Integer
// dtypes allow integers() and signs() only. A normal number lies within 3.47 deviations.
// The constant is the deviation of the sum of parts. Costs about 3 ns an element on one core.

#include <cstddef>
#include <cstdint>
#include <span>

#include "evaluate/task/dtype.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

// `first` is the index of the first element in `tensor`: a tensor can be filled in pieces.
void fill(std::span<std::byte> tensor, Dtype dtype, const Distribution& distribution,
          std::uint64_t seed, std::uint64_t first = 0);

}  // namespace specgen
