#include "base/hash.h"

#include <sodium.h>
#include <zlib.h>

#include <array>
#include <cstring>

#include "base/sha256_x86.h"

namespace specgen {

std::string sha256_hex(std::string_view bytes) {
  std::array<std::uint8_t, crypto_hash_sha256_BYTES> digest;
  if (has_sha256_instructions()) {
    digest = sha256_by_instructions(bytes);
  } else {
    crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                       bytes.size());
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (std::uint8_t byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::uint32_t crc32(std::uint32_t previous, std::string_view bytes) {
  if (bytes.empty()) return previous;  // zlib treats a null pointer as "reset"
  return static_cast<std::uint32_t>(
      ::crc32_z(previous, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void TraceHash::mix(std::string_view text) {
  mix(text.size());
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
  mix(rest);
}

}  // namespace specgen
