#include "kvcache/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kvcache/checksum_avx2.h"

namespace specgen {
namespace {

bool has_avx2() {
#ifdef __x86_64__
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
#else
  return false;
#endif
}

XXH3_state_t* as_state(char* bytes) {
  return reinterpret_cast<XXH3_state_t*>(bytes);
}

}  // namespace

Checksum::Checksum() {
  static_assert(sizeof(XXH3_state_t) == sizeof(state_) && alignof(XXH3_state_t) <= 64);
  auto* state = new (state_.data()) XXH3_state_t;
  XXH3_INITSTATE(state);
  XXH3_64bits_reset(state);
}

void Checksum::add(std::span<const char> bytes) {
  if (has_avx2()) {
    add_with_avx2(state_.data(), bytes);
  } else {
    XXH3_64bits_update(as_state(state_.data()), bytes.data(), bytes.size());
  }
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_.data()));
}

std::uint64_t plain_checksum_of(std::span<const char> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace specgen
