#include "generate/author/tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace specgen {
namespace {

std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    std::size_t length = author_token_length(text);
    all.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return all;
}

TEST(AuthorTokens, a_word_includes_the_space_before_it) {
  EXPECT_EQ(tokens_of("take width  = 1024;"),
            (std::vector<std::string>{"take", " width", "  ", "=", " ", "102", "4", ";"}));
  EXPECT_EQ(tokens_of("    for"), (std::vector<std::string>{"   ", " for"}));
}

TEST(AuthorTokens, a_long_word_is_several) {
  EXPECT_EQ(tokens_of("accumulators"), (std::vector<std::string>{"accumula", "tors"}));
}

TEST(AuthorTokens, a_character_is_never_cut) {
  EXPECT_EQ(tokens_of("\xc3\xa4\xe2\x82\xac"),
            (std::vector<std::string>{"\xc3\xa4", "\xe2\x82\xac"}));
  EXPECT_EQ(tokens_of("\xff\xfe").size(), 2U);  // invalid characters
}

TEST(AuthorTokens, the_front_of_a_text_has_the_requested_tokens) {
  constexpr std::string_view text = "one two three";
  EXPECT_EQ(first_author_tokens(text, 2), "one two");
  EXPECT_EQ(first_author_tokens(text, 0), "");
  EXPECT_EQ(first_author_tokens(text, 99), text);
  EXPECT_EQ(count_author_tokens(text), 3);
}

}  // namespace
}  // namespace specgen
