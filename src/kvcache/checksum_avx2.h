#pragma once
// The loop of Checksum, compiled for AVX2. Internal to checksum.cc.

#include <span>

namespace specgen {

void add_with_avx2(char* state, std::span<const char> bytes);

}  // namespace specgen
