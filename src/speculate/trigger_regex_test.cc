#include "speculate/trigger_regex.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

std::string reason(std::string_view regex) {
  auto portable = portable_regex(regex, false);
  return portable ? "it is taken: " + portable->text : portable.error();
}
std::string text(std::string_view regex, bool match_case = true) {
  auto portable = portable_regex(regex, match_case);
  return portable ? portable->text : portable.error();
}

TEST(TriggerRegex, is_rewritten_into_bytes_and_classes) {
  EXPECT_EQ(text("a"), R"((?:(?:\x61)))");
  EXPECT_EQ(text("a", false), R"((?:(?:[\x41\x61])))");
  EXPECT_EQ(text("[a-c]"), R"((?:(?:[\x61-\x63])))");
  EXPECT_EQ(text("."), R"((?:(?:[\x00-\x09\x0b-\xff])))");
  EXPECT_EQ(text(R"([\]\-x])"), R"((?:(?:[\x2d\x5d\x78])))");
  EXPECT_EQ(text("é"), R"((?:(?:\xc3\xa9)))");
  EXPECT_EQ(text("ab?|c{2,3}"), R"((?:(?:\x61\x62{0,1})|(?:\x63{2,3})))");
}

TEST(TriggerRegex, what_is_left_out_is_left_out_in_either_case) {
  EXPECT_EQ(text("[^a]", false), R"((?:(?:[\x00-\x40\x42-\x60\x62-\xff])))");
}

TEST(TriggerRegex, knows_how_long_a_match_is) {
  auto regex = portable_regex("(?:wait|hold on),? {0,3}x", false);
  ASSERT_TRUE(regex);
  EXPECT_EQ(regex->shortest, 5U);
  EXPECT_EQ(regex->longest, 12U);
}

TEST(TriggerRegex, says_why_it_refuses) {
  EXPECT_EQ(reason("a*"), "* has no bound; write for example {0,8}");
  EXPECT_EQ(reason("a+"), "+ has no bound; write for example {1,8}");
  EXPECT_EQ(reason("a{2,}"), "{2,} has no bound");
  EXPECT_EQ(reason("a?"), "it can match nothing at all");
  EXPECT_EQ(reason(""), "it can match nothing at all");
  EXPECT_EQ(reason("a|"), "it can match nothing at all");
  EXPECT_EQ(reason("^a"), "^ is not known; write \\n, which also stands before the first line");
  EXPECT_EQ(reason(R"(\bwait)"), "\\b is not known; a word's end is written as what stands there");
  EXPECT_EQ(reason("(?=a)b"), "of the groups with (? only (?: is known");
  EXPECT_EQ(reason("(ab"), "a ( is not closed");
  EXPECT_EQ(reason("ab)"), "a ) closes nothing");
  EXPECT_EQ(reason("[ab"), "a [ is not closed");
  EXPECT_EQ(reason("[b-a]"), "a range in [ ] does not go from one character to a later one");
  EXPECT_EQ(reason("[é]"), "[ ] takes ASCII only; write other characters as a choice (?:a|b)");
  EXPECT_EQ(reason("a??"), "a repeat is followed by another; put the first in a group");
  EXPECT_EQ(reason("?a"), "there is nothing for ? to repeat");
  EXPECT_EQ(reason("a{3,2}"), "{3,2} is no number of times from 1 to 64");
  EXPECT_EQ(reason("a{x}"), "{ wants a number, as in {2} or {0,8}");
  EXPECT_EQ(reason("[^\\s\\S]"), "a [ ] matches nothing");
  EXPECT_EQ(reason("a\\"), "a \\ stands at the end");
  EXPECT_EQ(reason("\\xg1"), "\\x wants two hex digits");
  EXPECT_EQ(reason("a{40}b{40}"), "it can match 80 bytes; the most is 64");
  EXPECT_EQ(reason(std::string(40, '(') + "a" + std::string(40, ')')),
            "groups are nested over 16 deep");
  EXPECT_EQ(reason(std::string(1001, 'a')), "it is longer than 1000 characters");
}

TEST(TriggerRegex, by_length_tells_where_the_first_word_begins) {
  auto parts = regexes_by_length(R"(\n(?:but )?(?:wait|hmm)[,.])", false);
  ASSERT_TRUE(parts);
  std::vector<std::size_t> words;
  for (const PortableRegex& part : *parts) words.push_back(part.words);
  EXPECT_EQ(words, (std::vector<std::size_t>{4, 5, 8, 9}));
}

TEST(TriggerRegex, by_length_has_a_limit) {
  EXPECT_FALSE(regexes_by_length("(?:a|b{1,40}){1,3}", false));
  EXPECT_EQ(regexes_by_length("a{1,64}(?:x|y|z)", false).error(),
            "it can match 65 bytes; the most is 64");
}

}  // namespace
}  // namespace specgen
