#pragma once
// Cuts a text into pieces at places chosen by the fuzzer: the first bytes of its input are the lengths of the
// pieces, repeated. Each piece is a separate copy, so that the address sanitizer
// finds a view into a freed one.

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
