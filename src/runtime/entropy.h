#pragma once
// Unpredictable bits from the kernel, for secrets only. All other randomness comes from the Loop's
// Random, so that a run can be repeated.

#include <array>
#include <cstdint>

namespace specgen {

std::array<std::uint64_t, 2> system_entropy();

}  // namespace specgen
