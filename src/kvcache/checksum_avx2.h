#pragma once
// Checksum's loop once more, compiled for processors that have AVX2. Of checksum.cc's own.

#include <span>

namespace specgen {

void add_with_avx2(char* state, std::span<const char> bytes);

}  // namespace specgen
