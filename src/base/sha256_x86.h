#pragma once
// SHA-256 with the processor's SHA instructions, four times as fast as libsodium's portable code, which is used where
// they are missing. OpenSSL has both but would add megabytes to the programs. Private to hash.cc.

#include <array>
#include <cstdint>
#include <string_view>

namespace specgen {

bool has_sha256_instructions();

// Only if has_sha256_instructions().
std::array<std::uint8_t, 32> sha256_by_instructions(std::string_view bytes);

}  // namespace specgen
