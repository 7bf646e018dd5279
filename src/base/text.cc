#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace specgen {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Edits (insert, delete, replace, transpose) between two words: optimal string alignment.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                     lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

// The length of a prefix that is ASCII only, tested eight bytes at a time: most texts are all ASCII.
std::size_t ascii_length(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (std::uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (word & kHighBits) break;
  }
  return at;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::size_t character_length(std::string_view text) {
  auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    bool overlong = first == 0xE0 && byte(1) < 0xA0;
    bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    bool out_of_range = (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
    return follows(1) && follows(2) && follows(3) && !out_of_range ? 4 : 0;
  }
  return 0;
}

std::string as_utf8(std::string text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string valid;
  std::size_t copied = 0;  // bytes of `text` that `valid` has already
  for (std::size_t at = ascii_length(text); at < text.size();) {
    std::size_t length = character_length(std::string_view(text).substr(at));
    if (length == 0) {
      valid.append(text, copied, at - copied).append(kReplacement);
      copied = at + 1;
    }
    at += std::max<std::size_t>(length, 1);
    at += ascii_length(std::string_view(text).substr(at));
  }
  if (copied == 0) return text;
  return valid.append(text, copied);
}

std::optional<std::string> nearest(std::string_view typed,
                                   std::span<const std::string> candidates) {
  constexpr std::size_t kMaxName = 64;  // a longer word is not a misspelt name
  if (typed.empty() || typed.size() > kMaxName) return std::nullopt;
  std::size_t max_distance = std::max<std::size_t>(1, typed.size() / 3);
  // Below the length, too: replacing every letter matches anything.
  std::size_t best_distance = std::min(max_distance + 1, typed.size());
  std::optional<std::string> best;
  for (const std::string& candidate : candidates) {
    std::size_t distance = edit_distance(typed, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates) {
  auto found = nearest(typed, candidates);
  return found ? fmt::format("; did you mean '{}'?", *found) : std::string();
}

}  // namespace specgen
