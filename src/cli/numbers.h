#pragma once
// Numbers that users type, for the words of commands.

#include <charconv>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

template <class Number>
Result<Number> number_of(const std::string& text, std::string_view flag) {
  Number value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value == value) return value;
  return fail(ErrorCode::bad_usage, std::string(flag) + ": '" + text + "' is not a number for it");
}

// "--shadow must be between 0 and 1"
std::unexpected<Error> must_be(std::string_view flag, std::string_view what);

// "BLOCK=256", of --set and --shape.
Result<std::map<std::string, std::int64_t>> assignments(const std::vector<std::string>& texts,
                                                        std::string_view flag);

}  // namespace specgen
