#pragma once
// Cuts a text into pieces at places that the fuzzer chooses: the first bytes of its input say how long
// each piece is, over and over. Each piece is a copy of its own, so that a view into one that is gone is
// seen by the address sanitizer.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

struct FuzzInput {
  std::vector<std::string> pieces;
  std::string text;
};

inline FuzzInput cut_into_pieces(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLengths = 4;
  FuzzInput input;
  if (size < kLengths) return input;
  input.text.assign(reinterpret_cast<const char*>(data) + kLengths, size - kLengths);
  for (std::size_t at = 0, i = 0; at < input.text.size(); ++i) {
    std::size_t length = 1 + data[i % kLengths];
    input.pieces.push_back(input.text.substr(at, length));
    at += length;
  }
  return input;
}

}  // namespace specgen
