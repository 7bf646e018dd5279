#include "base/text.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using Texts = std::vector<std::string>;
using Views = std::vector<std::string_view>;

const Texts kAxes{"rows", "cols", "channels", "eps"};

TEST(Text, trim_removes_white_space_at_both_ends_only) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim("a"), "a");
}

TEST(Text, the_first_line_ends_at_the_newline) {
  EXPECT_EQ(first_line("one\ntwo\n"), "one");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line("\ntwo"), "");
}

TEST(Text, split_keeps_empty_parts) {
  EXPECT_EQ(split("a,b", ','), (Views{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Views{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (Views{""}));
}

TEST(Text, join_undoes_split) {
  EXPECT_EQ(join(Texts{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join(Texts{}, ","), "");
  for (std::string text : {"a,b", "a,,b", ",a", ",,", "a,"}) {
    Views parts = split(text, ',');
    EXPECT_EQ(join(Texts(parts.begin(), parts.end()), ","), text);
  }
}

TEST(Text, a_swapped_letter_is_suggested) {
  EXPECT_EQ(nearest("cosl", kAxes), "cols");
  EXPECT_EQ(nearest("ocls", kAxes), "cols");
}

TEST(Text, a_missing_a_doubled_and_a_wrong_letter_are_suggested) {
  EXPECT_EQ(nearest("rws", kAxes), "rows");
  EXPECT_EQ(nearest("rowws", kAxes), "rows");
  EXPECT_EQ(nearest("eqs", kAxes), "eps");
  EXPECT_EQ(nearest("chanels", kAxes), "channels");
}

TEST(Text, case_is_no_difference) {
  EXPECT_EQ(nearest("COLS", kAxes), "cols");
  EXPECT_EQ(nearest("cols", Texts{"rows", "COLS"}), "COLS");
}

TEST(Text, a_long_word_may_have_more_wrong_letters_than_a_short_one) {
  EXPECT_EQ(nearest("termnatoin", Texts{"termination"}), "termination");
  EXPECT_EQ(nearest("cxxs", Texts{"cols"}), std::nullopt);
}

TEST(Text, a_word_unlike_all_candidates_has_no_suggestion) {
  EXPECT_EQ(nearest("temperature", kAxes), std::nullopt);
  EXPECT_EQ(nearest("", kAxes), std::nullopt);
  EXPECT_EQ(nearest("cols", Texts{}), std::nullopt);
  std::string long_word(65, 'a');
  EXPECT_EQ(nearest(long_word, Texts{long_word}), std::nullopt);
}

TEST(Text, the_nearest_word_is_suggested_and_of_equals_the_first) {
  EXPECT_EQ(nearest("channel", Texts{"chanel5", "channels"}), "channels");
  EXPECT_EQ(nearest("row", Texts{"rows", "rown"}), "rows");
}

TEST(Text, utf8_is_kept_and_every_other_byte_is_replaced) {
  for (const char* good :
       {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(as_utf8(good), good);
  }
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(as_utf8("a\xFF"), "a" + mark);
  EXPECT_EQ(as_utf8("\x80z"), mark + "z");
  EXPECT_EQ(as_utf8("\xC3"), mark) << "cut short";
  EXPECT_EQ(as_utf8("\xC0\xAF"), mark + mark) << "overlong";
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), mark + mark + mark) << "half of a pair";
  EXPECT_EQ(as_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark) << "beyond the last";
  for (std::size_t before = 0; before < 20; ++before) {
    std::string plain(before, 'a');
    EXPECT_EQ(as_utf8(plain + "\xFF" + plain), plain + mark + plain);
    EXPECT_EQ(as_utf8(plain + "\xC3\xA4" + plain + "\xC3"), plain + "\xC3\xA4" + plain + mark);
  }
}

TEST(Text, did_you_mean_is_the_end_of_a_sentence_or_empty) {
  EXPECT_EQ(did_you_mean("cosl", kAxes), "; did you mean 'cols'?");
  EXPECT_EQ(did_you_mean("temperature", kAxes), "");
}

}  // namespace
}  // namespace specgen
