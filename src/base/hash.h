#pragma once
// Three hashes: SHA-256 names content (collision-resistant), crc32 detects damage on disk, TraceHash
// compares two runs in virtual time (fast, not secure).

#include <cstdint>
#include <string>
#include <string_view>

namespace specgen {

// The SHA-256 of the bytes as 64 lower-case hex digits, as `sha256sum` prints it.
std::string sha256_hex(std::string_view bytes);

// Continues from a previous value: crc32(crc32(0, a), b) == crc32(0, a + b).
std::uint32_t crc32(std::uint32_t previous, std::string_view bytes);

class TraceHash {
 public:
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9fb21c651e98df25;
    value_ ^= value_ >> 32;
  }
  void mix(std::string_view text);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x51ec9e2d4a7b03f1;
};

}  // namespace specgen
