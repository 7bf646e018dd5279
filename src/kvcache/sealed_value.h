#pragma once
// Values as a gateway keeps them in nodes: the value, and behind it a seal of 16 bytes over key and value. What comes
// back with another seal is not what was stored under this key, whatever happened on the way, and is a miss.
//
// Sealed values have keys of their own, with a prefix: who asks a node directly never gets a seal where it expects a
// value, and a gateway never a value without one.

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "kvcache/checksum.h"

namespace specgen {

inline constexpr std::size_t kSealBytes = 16;

inline std::string sealed_key(std::string_view key) {
  std::string sealed = "sealed1:";
  sealed += key;
  return sealed;
}

// Not for the frame of a coroutine, which does not keep its alignment.
class Seal {
 public:
  explicit Seal(std::string_view key) {
    sum_.add(key);
    sum_.add(std::string_view("\0", 1));  // key and value cannot run into each other
  }
  void add(std::span<const char> bytes) { sum_.add(bytes); }
  std::array<char, kSealBytes> bytes() const {
    std::array<char, kSealBytes> seal{'S', 'G', 'K', 'V', 'S', 'E', 'A', 'L'};
    std::uint64_t sum = sum_.value();
    std::memcpy(seal.data() + 8, &sum, sizeof sum);
    return seal;
  }

 private:
  Checksum sum_;
};

}  // namespace specgen
