#pragma once
// 64 well mixed bits of (seed, index): splitmix64 with the index as its counter. Not secret: the
// seed can be computed from outputs, so every seed is a new one (Secret::derive).

#include <cstdint>

namespace specgen {

inline constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

}  // namespace specgen
