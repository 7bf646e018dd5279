#include "generate/openai/think_splitter.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace specgen {
namespace {

using Opener = ThinkSplitter::Opener;
using Pair = std::pair<std::string, std::string>;  // reasoning, content

Pair split_pieces(const std::vector<std::string>& pieces, Opener opener = Opener::in_text) {
  ThinkSplitter splitter(opener);
  Pair all;
  auto take = [&](const ThinkSplitter::Parts& parts) {
    if (!parts.reasoning.empty()) EXPECT_EQ(all.second, "") << "reasoning came after the answer";
    all.first += parts.reasoning;
    all.second += parts.content;
  };
  for (const std::string& piece : pieces) take(splitter.feed(piece));
  take(splitter.flush());
  return all;
}

Pair split_text(const std::string& text, Opener opener = Opener::in_text) {
  return split_pieces({text}, opener);
}

TEST(ThinkSplitter, text_between_tags_is_reasoning) {
  EXPECT_EQ(split_text("<think>\nhm\n</think>\n\nyes"), Pair("hm\n", "yes"));
  EXPECT_EQ(split_text("<thinking>hm</thinking>yes"), Pair("hm", "yes"));
  EXPECT_EQ(split_text("\n <think>\r\nhm</think>\r\n\r\n  yes"), Pair("hm", "  yes"));
}

TEST(ThinkSplitter, without_an_opening_tag_everything_is_content) {
  EXPECT_EQ(split_text("yes </think> no"), Pair("", "yes </think> no"));
  EXPECT_EQ(split_text("  yes"), Pair("", "  yes"));
  EXPECT_EQ(split_text("a <think>b</think>"), Pair("", "a <think>b</think>"));
}

TEST(ThinkSplitter, the_opening_tag_may_have_been_in_the_prompt) {
  EXPECT_EQ(split_text("hm</think>yes", Opener::in_prompt), Pair("hm", "yes"));
  EXPECT_EQ(split_text("hm</thinking>yes", Opener::in_prompt), Pair("hm", "yes"));
  EXPECT_EQ(split_text("<think>hm</think>yes", Opener::in_prompt), Pair("hm", "yes"));
  EXPECT_EQ(split_text("</think>\n\nyes", Opener::in_prompt), Pair("", "yes"));
  EXPECT_EQ(split_text(" hm", Opener::in_prompt), Pair(" hm", ""));
}

TEST(ThinkSplitter, tags_that_are_mentioned_later_are_content) {
  EXPECT_EQ(split_text("<think>a</think>b</think>c<think>d</think>"),
            Pair("a", "b</think>c<think>d</think>"));
}

TEST(ThinkSplitter, only_the_tag_that_was_opened_closes) {
  EXPECT_EQ(split_text("<think>a</thinking>b</think>c"), Pair("a</thinking>b", "c"));
}

TEST(ThinkSplitter, an_almost_tag_is_text) {
  EXPECT_EQ(split_text("<thin"), Pair("", "<thin"));
  EXPECT_EQ(split_text("<think>a < b </thin> c</think"), Pair("a < b </thin> c</think", ""));
  EXPECT_EQ(split_text("<thinker>a"), Pair("", "<thinker>a"));
}

TEST(ThinkSplitter, reasoning_that_never_ends_is_reasoning) {
  EXPECT_EQ(split_text("<think>hm"), Pair("hm", ""));
  EXPECT_EQ(split_text("<think>"), Pair("", ""));
}

TEST(ThinkSplitter, nothing_but_a_possible_tag_is_held_back) {
  ThinkSplitter splitter;
  EXPECT_EQ(splitter.feed("<think>a < b").reasoning, "a < b");
  EXPECT_TRUE(splitter.reasoning());
  EXPECT_EQ(splitter.feed(" c</").reasoning, " c");
  EXPECT_EQ(splitter.feed("x").reasoning, "</x");
  EXPECT_EQ(splitter.feed("</think").reasoning, "");
  auto parts = splitter.feed(">\nyes");
  EXPECT_EQ(parts.reasoning, "");
  EXPECT_EQ(parts.content, "yes");
  EXPECT_EQ(splitter.feed("</th").content, "</th");
}

TEST(ThinkSplitter, much_leading_space_is_not_buffered) {
  ThinkSplitter splitter;
  std::size_t content = 0;
  for (int i = 0; i < 100; ++i) content += splitter.feed(std::string(1000, ' ')).content.size();
  EXPECT_EQ(content, 100'000U);
}

TEST(ThinkSplitter, any_pieces_give_the_same_as_the_whole) {
  const std::vector<std::string> words{"<think>", "</think>", "<thinking>", "</thinking>", "<th",
                                       "</",      "ink>",     "a",          "\n",          "\r\n",
                                       " ",       "<",        "ing>"};
  Random random(2);
  for (int round = 0; round < 4000; ++round) {
    Opener opener = random.chance(0.5) ? Opener::in_text : Opener::in_prompt;
    std::string text;
    for (std::uint64_t n = random.below(12); n > 0; --n) text += words[random.below(words.size())];
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t length = 1 + random.below(5);
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    EXPECT_EQ(split_pieces(pieces, opener), split_text(text, opener)) << text;
  }
}

}  // namespace
}  // namespace specgen
