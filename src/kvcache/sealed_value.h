#pragma once
// Values as a gateway stores them on nodes: the value, followed by a seal of 16 bytes over key and value. A value
// that returns with another seal is not what was stored under this key, and is a miss.
//
// Sealed values have keys with a prefix: a client that asks a node directly never gets a seal, and a gateway never
// gets a value without one.

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

// Not to be stored in a coroutine frame, which does not keep its alignment.
class Seal {
 public:
  explicit Seal(std::string_view key) {
    sum_.add(key);
    sum_.add(std::string_view("\0", 1));  // separates key and value
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
