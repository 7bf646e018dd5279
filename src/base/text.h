#pragma once
// Small helpers on text. ASCII where nothing else is said, locale never.

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

// How many bytes the UTF-8 character at the front has; 0 if it is none. Not of an empty text.
std::size_t character_length(std::string_view text);
// The same text with U+FFFD in the place of every byte that is not UTF-8.
std::string as_utf8(std::string text);

// The candidate nearest to what was typed, if it is near enough to be what was meant: transposed,
// missing, doubled or wrong letters, about one per three typed.
std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> candidates);

// "; did you mean 'cols'?", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates);

}  // namespace specgen
