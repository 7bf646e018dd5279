#pragma once
// SHA-256 with the processor's own instructions, four times as fast as portable code. libsodium, which does it
// elsewhere, has portable code alone; a library that has both (OpenSSL) would cost the programs megabytes. Private to
// hash.cc.

#include <array>
#include <cstdint>
#include <string_view>

namespace specgen {

bool has_sha256_instructions();

// Only where the processor has them.
std::array<std::uint8_t, 32> sha256_by_instructions(std::string_view bytes);

}  // namespace specgen
