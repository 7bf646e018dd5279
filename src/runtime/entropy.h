#pragma once
// Bits that nobody can foresee, from the system. Only secrets come from here; all other chance is
// the Loop's Random, so that a run can be repeated.

#include <array>
#include <cstdint>

namespace specgen {

std::array<std::uint64_t, 2> system_entropy();

}  // namespace specgen
