#pragma once
// XXH3-64 over bytes that come in pieces: some 40 GB/s while they are in a cache, with AVX2 where the processor has
// it. Against damage by memory and by ourselves, not against people.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace specgen {

class Checksum {
 public:
  Checksum();
  void add(std::span<const char> bytes);
  std::uint64_t value() const;

 private:
  alignas(64) std::array<char, 576> state_;
};

// The same numbers, by the instructions that every processor has.
std::uint64_t plain_checksum_of(std::span<const char> bytes);

}  // namespace specgen
