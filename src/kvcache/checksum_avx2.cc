#include "kvcache/checksum_avx2.h"

#include "base/assert.h"

#ifdef __x86_64__
#include <immintrin.h>

#include <cstdlib>
#include <cstring>

// Compiles the whole header for this instruction set. Its functions are static: no other file uses them.
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2
#include <xxhash.h>
#pragma clang attribute pop

namespace specgen {

__attribute__((target("avx2"))) void add_with_avx2(char* state, std::span<const char> bytes) {
  XXH3_64bits_update(reinterpret_cast<XXH3_state_t*>(state), bytes.data(), bytes.size());
}

}  // namespace specgen
#else

namespace specgen {

void add_with_avx2(char*, std::span<const char>) {
  SG_PANIC("compiled without AVX2");
}

}  // namespace specgen
#endif
