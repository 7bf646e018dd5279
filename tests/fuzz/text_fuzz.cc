// User input: durations, sizes and misspelt names.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "base/units.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (auto duration = specgen::parse_duration(text)) (void)specgen::format_duration(*duration);
  if (auto bytes = specgen::parse_bytes(text)) (void)specgen::format_bytes(*bytes);
  static const std::array<std::string, 3> kNames{"optimize", "doctor", "simulate"};
  if (auto near = specgen::nearest(text, kNames); near && text.size() > 64) std::abort();
  auto parts = specgen::split(text, ',');
  std::vector<std::string> copies(parts.begin(), parts.end());
  if (specgen::join(copies, ",") != text) std::abort();
  return 0;
}
