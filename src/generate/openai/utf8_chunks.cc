#include "generate/openai/utf8_chunks.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kHalfBytes = 3;  // of a surrogate half
constexpr std::size_t kEscapeLength = 6;

bool is_high(std::uint32_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low(std::uint32_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

std::optional<std::uint32_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// The code unit of an escape \uXXXX at the front; 0 if there is none.
std::uint32_t escaped_unit(std::string_view text) {
  if (text.size() < kEscapeLength || text[0] != '\\' || text[1] != 'u') return 0;
  std::uint32_t unit = 0;
  for (char c : text.substr(2, 4)) {
    auto digit = hex_digit(c);
    if (!digit) return 0;
    unit = unit * 16 + *digit;
  }
  return unit;
}

void append_three_bytes(std::string& out, std::uint32_t unit) {
  out += static_cast<char>(0xE0U | (unit >> 12U));
  out += static_cast<char>(0x80U | ((unit >> 6U) & 0x3FU));
  out += static_cast<char>(0x80U | (unit & 0x3FU));
}

// The surrogate half encoded as three bytes at the front; 0 if there is none.
std::uint32_t half_at(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (text.size() < kHalfBytes || byte(0) != 0xED || byte(1) < 0xA0 || byte(1) > 0xBF) return 0;
  if (byte(2) < 0x80 || byte(2) > 0xBF) return 0;
  return 0xD000U | (std::uint32_t{byte(1)} & 0x3FU) << 6U | (std::uint32_t{byte(2)} & 0x3FU);
}

void append_pair(std::string& out, std::uint32_t high, std::uint32_t low) {
  std::uint32_t point = 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00);
  out += static_cast<char>(0xF0U | (point >> 18U));
  out += static_cast<char>(0x80U | ((point >> 12U) & 0x3FU));
  out += static_cast<char>(0x80U | ((point >> 6U) & 0x3FU));
  out += static_cast<char>(0x80U | (point & 0x3FU));
}

// Whether more bytes could complete this to a character.
bool may_begin_character(std::string_view text) {
  auto first = static_cast<std::uint8_t>(text[0]);
  std::size_t needed = first >= 0xF0 && first <= 0xF4   ? 4
                       : first >= 0xE0 && first <= 0xEF ? 3
                       : first >= 0xC2 && first <= 0xDF ? 2
                                                        : 0;
  return text.size() < needed &&
         std::ranges::all_of(
             text.substr(1),
             [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) == 0x80U; });
}

// Whether more bytes could complete this first half to a pair.
bool may_begin_pair(std::string_view text) {
  if (!is_high(half_at(text)) || text.size() >= 2 * kHalfBytes) return false;
  std::string_view rest = text.substr(kHalfBytes);
  return rest.empty() || (rest[0] == '\xED' && may_begin_character(rest));
}

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<std::uint8_t>(c) >= 0x80; });
}

}  // namespace

std::string_view halves_as_bytes(std::string_view json, std::string& storage) {
  storage.clear();
  std::size_t copied = 0;  // bytes of `json` that `storage` has already
  for (std::size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
    std::uint32_t unit = escaped_unit(json.substr(at));
    if (!is_high(unit) && !is_low(unit)) {
      at += 2;  // past the escaped character, which may be a backslash
    } else if (is_high(unit) && is_low(escaped_unit(json.substr(at + kEscapeLength)))) {
      at += 2 * kEscapeLength;
    } else {
      storage.append(json, copied, at - copied);
      append_three_bytes(storage, unit);
      at += kEscapeLength;
      copied = at;
    }
  }
  if (copied == 0) return json;
  return storage.append(json, copied);
}

void take_complete_characters(std::string& text, std::string& held, bool at_end) {
  if (held.empty() && is_ascii(text)) return;
  if (!held.empty()) {
    held += text;
    text.swap(held);
    held.clear();
  }
  std::string valid;
  std::size_t copied = 0;  // bytes of `text` that `valid` has already
  std::size_t at = 0;
  auto replace = [&](std::size_t length, auto&& append) {
    valid.append(text, copied, at - copied);
    append();
    at += length;
    copied = at;
  };
  while (at < text.size()) {
    std::string_view rest = std::string_view(text).substr(at);
    if (std::size_t length = character_length(rest)) {
      at += length;
    } else if (!at_end && (may_begin_character(rest) || may_begin_pair(rest))) {
      break;
    } else if (std::uint32_t half = half_at(rest)) {
      std::uint32_t other = half_at(rest.substr(kHalfBytes));
      if (is_high(half) && is_low(other)) {
        replace(2 * kHalfBytes, [&] { append_pair(valid, half, other); });
      } else {
        replace(kHalfBytes, [&] { valid += kReplacement; });
      }
    } else {
      replace(1, [&] { valid += kReplacement; });
    }
  }
  held.assign(text, at);
  text.resize(at);
  if (copied > 0) text = valid.append(text, copied);
}

}  // namespace specgen
