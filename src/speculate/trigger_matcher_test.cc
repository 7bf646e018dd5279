#include "speculate/trigger_matcher.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace specgen {
namespace {

std::string refusal(std::string_view regex) {
  auto checked = check_trigger_regex(regex);
  return checked ? "accepted" : checked.error();
}

TEST(TriggerRegex, knows_the_longest_match) {
  EXPECT_EQ(check_trigger_regex("(?:wait|hold on),? {0,3}x"), 12U);
  EXPECT_EQ(check_trigger_regex("a(b|cd{2}(?:e|fgh))?|xy"), 7U);
  EXPECT_EQ(check_trigger_regex(R"([^\]\-x][[:alpha:]-]\x41\x{1F600}\pL\p{Greek}\n\.)"), 8U);
  EXPECT_EQ(check_trigger_regex("é{3}[’']"), 4U);
  EXPECT_EQ(check_trigger_regex("a{x}"), 4U);  // RE2 takes a { without a count as a character
  EXPECT_EQ(check_trigger_regex("a??b{2,3}?"), 4U);
}

TEST(TriggerRegex, a_refused_pattern_gets_the_reason) {
  EXPECT_EQ(refusal("a*"), "* has no bound; write for example {0,8}");
  EXPECT_EQ(refusal("a+"), "+ has no bound; write for example {1,8}");
  EXPECT_EQ(refusal("a{2,}"), "{2,} has no bound");
  EXPECT_EQ(refusal("a?"), "it can match the empty text");
  EXPECT_EQ(refusal(""), "it can match the empty text");
  EXPECT_EQ(refusal("a|"), "it can match the empty text");
  EXPECT_EQ(refusal("^a"),
            "^ is not supported; write \\n, which also matches before the first line");
  EXPECT_EQ(refusal(R"(\bwait)"), "\\b is not supported; write the character that must be there");
  EXPECT_EQ(refusal(R"(\Qa+\E)"), "\\Q is not supported; write the character that must be there");
  EXPECT_EQ(refusal("(?i:a)b"), "of the groups that begin with (? only (?: is supported");
  EXPECT_EQ(refusal("a{40}b{40}"), "it can match 80 characters; the limit is 64");
  EXPECT_EQ(refusal(std::string(65, 'a')), "it can match 65 characters; the limit is 64");
  EXPECT_EQ(refusal(std::string(1001, 'a')), "it is longer than 1000 bytes");
}

TEST(TriggerRegex, the_syntax_errors_of_re2_are_passed_on) {
  EXPECT_EQ(refusal("(ab"), "missing ): (ab");
  EXPECT_EQ(refusal("ab)"), "unexpected ): ab)");
  EXPECT_EQ(refusal("a)|(b"), "unexpected ): a)|(b");
  EXPECT_EQ(refusal("[ab"), "missing ]: [ab");
  EXPECT_EQ(refusal("[b-a]"), "invalid character class range: b-a");
  EXPECT_EQ(refusal("a**"), "bad repetition operator: **");
  EXPECT_EQ(refusal("?a"), "no argument for repetition operator: ?");
  EXPECT_EQ(refusal("a\\"), "trailing \\");
  EXPECT_EQ(refusal("\\xg1"), "invalid escape sequence: \\xg1");
  EXPECT_EQ(refusal("(((a{99}){99}){99})"), "invalid repetition size: {99}");
  EXPECT_EQ(refusal("\xda?"), "invalid UTF-8");
}

// Compares with the definition: a match ends where RE2 matches a whole substring that ends there.
TEST(TriggerMatcher, finds_every_place_where_a_match_ends) {
  const std::vector<std::string> regexes{"ab?", "b{1,3}c", "(?:a|é)é", "[^a]c", "\\na", "éb|éc|é"};
  std::vector<TriggerMatcher::Pattern> patterns;
  for (const std::string& regex : regexes) {
    patterns.push_back({regex, true, check_trigger_regex(regex).value()});
  }
  auto matcher = TriggerMatcher::compile(patterns).value();
  const std::vector<std::string> parts{"a", "b", "c", "é", "\n", "\xc3", "\xff"};
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::uint64_t count = random.below(40); count > 0; --count) {
      text += parts[random.below(parts.size())];
    }
    std::set<std::pair<std::uint32_t, std::size_t>> expected, found;
    const std::string all = "\n" + text;
    for (std::uint32_t i = 0; i < regexes.size(); ++i) {
      const RE2 regex(regexes[i], RE2::Quiet);
      for (std::size_t end = 2; end <= all.size(); ++end) {
        for (std::size_t begin = 0; begin < end; ++begin) {
          if (RE2::FullMatch(all.substr(begin, end - begin), regex)) expected.insert({i, end - 1});
        }
      }
    }
    StreamTail tail;
    for (std::size_t at = 0; at < text.size();) {
      const std::string piece = text.substr(at, 1 + random.below(9));
      std::vector<PatternMatch> matches;
      matcher->scan(tail, piece, matches);
      for (const PatternMatch& match : matches) {
        EXPECT_TRUE(found.insert({match.pattern, at + match.end}).second);
      }
      at += piece.size();
    }
    ASSERT_EQ(found, expected) << text;
  }
}

TEST(TriggerMatcher, reports_where_the_text_of_the_longest_match_begins) {
  const std::string regex = R"((?:\n|[.] )(?:but )?wait[,.])";
  auto matcher =
      TriggerMatcher::compile({{regex, false, check_trigger_regex(regex).value()}}).value();
  StreamTail tail;
  std::vector<PatternMatch> matches;
  matcher->scan(tail, "But wait, so. Wait.", matches);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].end, 9U);
  EXPECT_EQ(matches[0].word_bytes, 9U);
  EXPECT_EQ(matches[1].end, 19U);
  EXPECT_EQ(matches[1].word_bytes, 5U);
}

}  // namespace
}  // namespace specgen
