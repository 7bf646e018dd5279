#include "generate/author/tokens.h"

#include <algorithm>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxWord = 8;
constexpr std::size_t kMaxDigits = 3;
constexpr std::size_t kMaxBlanks = 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

template <class Belongs>
std::size_t run_length(std::string_view text, std::size_t limit, Belongs belongs) {
  std::size_t length = 0;
  while (length < std::min(text.size(), limit) && belongs(text[length])) ++length;
  return length;
}

}  // namespace

std::size_t author_token_length(std::string_view text) {
  if (text.empty()) return 0;
  std::size_t lead = text.size() > 1 && text[0] == ' ' && is_letter(text[1]) ? 1 : 0;
  if (std::size_t word = run_length(text.substr(lead), kMaxWord, is_letter)) return lead + word;
  if (std::size_t digits = run_length(text, kMaxDigits, is_digit)) return digits;
  auto is_blank = [](char c) { return c == ' '; };
  if (std::size_t blanks = run_length(text, kMaxBlanks, is_blank)) {
    // The last blank belongs to the following word.
    bool word_follows = blanks < text.size() && is_letter(text[blanks]);
    return blanks > 1 && word_follows ? blanks - 1 : blanks;
  }
  auto is_newline = [](char c) { return c == '\n'; };
  if (std::size_t newlines = run_length(text, 2, is_newline)) return newlines;
  return std::max<std::size_t>(1, character_length(text));
}

std::int64_t count_author_tokens(std::string_view text) {
  std::int64_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(author_token_length(text));
  return count;
}

std::string_view first_author_tokens(std::string_view text, std::int64_t tokens) {
  std::size_t length = 0;
  for (; tokens > 0 && length < text.size(); --tokens) {
    length += author_token_length(text.substr(length));
  }
  return text.substr(0, length);
}

}  // namespace specgen
