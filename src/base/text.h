#pragma once
// Small text functions. ASCII unless stated otherwise; independent of the locale.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view trim(std::string_view text);
std::string_view first_line(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

// The length in bytes of the UTF-8 character at the front; 0 if it is invalid. `text` is not empty.
std::size_t character_length(std::string_view text);
// The same text with every byte that is not UTF-8 replaced by U+FFFD.
std::string as_utf8(std::string text);

// The candidate with the smallest edit distance to what was typed, if that is at most one edit per
// three characters: transposed, missing, doubled or wrong letters.
std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> candidates);

// "; did you mean 'cols'?", or an empty text.
std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates);

}  // namespace specgen
