#include "generate/reasoning_trace.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace specgen {
namespace {

Delta reasoning(std::string text, std::vector<std::int32_t> ids = {}) {
  return {.kind = DeltaKind::reasoning, .text = std::move(text), .choice = 0, .token_ids = ids};
}

// Cuts a text without tokens.
std::string cut_of(const std::string& text, std::size_t offset = std::string::npos) {
  ReasoningTrace trace;
  trace.add(reasoning(text));
  return trace.prefix(std::min(offset, text.size())).text;
}

TEST(ReasoningTrace, a_cut_moves_back_to_the_end_of_a_paragraph) {
  EXPECT_EQ(cut_of("First.\n\nThen. More of\nthat"), "First.\n\n");
  EXPECT_EQ(cut_of("First.\n \t\nThen"), "First.\n \t\n");
  EXPECT_EQ(cut_of("First.\r\n\r\nThen"), "First.\r\n\r\n");
  EXPECT_EQ(cut_of("First.\n\n"), "First.\n\n");
}

TEST(ReasoningTrace, else_to_the_end_of_a_line_a_sentence_or_a_word) {
  EXPECT_EQ(cut_of("one line. More\nsecond. line"), "one line. More\n");
  EXPECT_EQ(cut_of("It is 3.5 long. And then"), "It is 3.5 long.");
  EXPECT_EQ(cut_of("no end in sight"), "no end in");
  EXPECT_EQ(cut_of("word"), "word");
}

TEST(ReasoningTrace, line_ends_stay_together) {
  EXPECT_EQ(cut_of("a\n\n\nb", 3), "a");
  EXPECT_EQ(cut_of("a\n\n\nb", 4), "a\n\n\n");
}

TEST(ReasoningTrace, a_better_place_that_is_far_away_is_not_used) {
  const std::string words = " and on and on";
  auto paragraph_and = [&](int times) {
    std::string text = "Paragraph.\n\nOne.";
    for (int i = 0; i < times; ++i) text += words;
    return text;
  };
  EXPECT_EQ(cut_of(paragraph_and(5)), "Paragraph.\n\n");
  std::string far = paragraph_and(30);
  EXPECT_EQ(cut_of(far), far.substr(0, far.size() - 3)) << "a word is lost, not the last sentence";
}

TEST(ReasoningTrace, code_is_cut_between_lines_only) {
  EXPECT_EQ(cut_of("So:\n```cpp\nint a = b + c;\nfloat d = e"), "So:\n```cpp\nint a = b + c;\n");
  std::string long_line = "So:\n```cpp\n" + std::string(1000, 'x') + " = 1; y";
  EXPECT_EQ(cut_of(long_line), "So:\n```cpp\n");
  EXPECT_EQ(cut_of("``` cpp x"), "");
}

TEST(ReasoningTrace, the_end_of_code_is_better_than_a_blank_line_in_it) {
  const std::string code = "See:\n```cpp\nint a;\n\nint b;\n```\n";
  EXPECT_EQ(cut_of(code), code);
  EXPECT_EQ(cut_of(code + "Wait, no"), code);
  EXPECT_EQ(cut_of(code + "\n"), code + "\n");
  EXPECT_EQ(cut_of(code + "\nWait"), code + "\n");
  // Nothing outside the code is near.
  const std::string begun = "```cpp\n" + std::string(300, 'x') + "\nint a;\n\n";
  EXPECT_EQ(cut_of(begun + "int b;\n```\n", begun.size() + 3), begun);
}

TEST(ReasoningTrace, a_character_is_never_cut) {
  std::string text = "\xE4\xBD\xA0\xE5\xA5\xBD\xE5\x90\x97";
  EXPECT_EQ(cut_of(text, 5), text.substr(0, 3));
  EXPECT_EQ(cut_of(text, 2), "");
}

TEST(ReasoningTrace, with_tokens_a_cut_is_at_the_end_of_one) {
  ReasoningTrace trace;
  trace.add(PromptTokens{{1, 2}});
  trace.add(reasoning("", {100}));
  trace.add(reasoning("One. T", {10}));
  trace.add(reasoning("wo is", {11, 12}));
  trace.add(reasoning(" three", {13}));
  EXPECT_EQ(trace.tokens(), 5);
  auto prefix = trace.prefix(trace.text().size());
  EXPECT_EQ(prefix.text, "One. Two is") << "the sentence ends inside a token";
  EXPECT_EQ(prefix.token_ids, (std::vector<std::int32_t>{1, 2, 100, 10, 11, 12}));
  EXPECT_EQ(trace.prefix(3).text, "");
  EXPECT_TRUE(trace.prefix(3).token_ids.empty());
}

TEST(ReasoningTrace, tokens_whose_text_has_not_arrived_are_left_out) {
  ReasoningTrace trace;
  trace.add(PromptTokens{{1}});
  trace.add(reasoning("One.\n\n", {10}));
  trace.add(reasoning("", {11}));  // held back by the server: the beginning of a tag, maybe
  EXPECT_EQ(trace.prefix(6).token_ids, (std::vector<std::int32_t>{1, 10}));
  trace.add(reasoning("<b", {12}));
  EXPECT_EQ(trace.prefix(6).token_ids, (std::vector<std::int32_t>{1, 10}));
  trace.add(reasoning(" x", {13}));
}

TEST(ReasoningTrace, a_delta_without_tokens_ends_the_known_ids) {
  ReasoningTrace trace;
  trace.add(PromptTokens{{1}});
  trace.add(reasoning("One.\n\n", {10}));
  trace.add(reasoning("Two.\n\n"));
  trace.add(reasoning("Three.\n\n", {12}));
  EXPECT_EQ(trace.prefix(6).token_ids, (std::vector<std::int32_t>{1, 10}));
  EXPECT_EQ(trace.prefix(12).text, "One.\n\nTwo.\n\n");
  EXPECT_TRUE(trace.prefix(12).token_ids.empty());
  EXPECT_EQ(trace.tokens(), estimate_tokens(trace.text()));
}

TEST(ReasoningTrace, without_the_prompt_s_tokens_there_are_no_ids) {
  ReasoningTrace trace;
  trace.add(reasoning("One.\n\n", {10}));
  EXPECT_EQ(trace.prefix(6).text, "One.\n\n");
  EXPECT_TRUE(trace.prefix(6).token_ids.empty());
}

TEST(ReasoningTrace, content_and_other_choices_are_ignored) {
  ReasoningTrace trace;
  trace.add(Delta{.kind = DeltaKind::content, .text = "answer", .choice = 0, .token_ids = {}});
  Delta other = reasoning("other");
  other.choice = 1;
  trace.add(other);
  EXPECT_EQ(trace.text(), "");
  EXPECT_EQ(trace.tokens(), 0);
  EXPECT_EQ(trace.safe_cut(100), 0U);
}

// The text of each token follows from its id, so that ids can be checked against the text.
TEST(ReasoningTrace, every_prefix_matches_the_text_and_its_tokens) {
  const std::vector<std::string> vocabulary{
      "The",       " tile",        ".",      "\n", "\n\n", "```cpp\n", "```\n",
      " \xC3\xA4", "\xE4\xBD\xA0", "int a;", "  ", ".5",   "```"};
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    ReasoningTrace trace;
    bool with_ids = random.chance(0.7);
    if (with_ids) trace.add(PromptTokens{{-1}});
    for (int i = 0; i < 60; ++i) {
      Delta delta = reasoning("");
      for (std::uint64_t n = random.below(3); n > 0; --n) {
        auto id = static_cast<std::int32_t>(random.below(vocabulary.size()));
        delta.text += vocabulary[static_cast<std::size_t>(id)];
        if (with_ids) delta.token_ids.push_back(id);
      }
      trace.add(delta);
    }
    for (std::size_t offset = 0; offset <= trace.text().size() + 1; ++offset) {
      ReasoningPrefix prefix = trace.prefix(offset);
      ASSERT_LE(prefix.text.size(), offset);
      ASSERT_TRUE(trace.text().starts_with(prefix.text));
      ASSERT_EQ(as_utf8(prefix.text), prefix.text);
      if (!with_ids || prefix.text.empty()) {
        ASSERT_TRUE(prefix.token_ids.empty());
        continue;
      }
      std::string said;
      for (std::size_t i = 1; i < prefix.token_ids.size(); ++i) {
        said += vocabulary[static_cast<std::size_t>(prefix.token_ids[i])];
      }
      ASSERT_EQ(prefix.token_ids.at(0), -1);
      ASSERT_EQ(said, prefix.text);
    }
  }
}

}  // namespace
}  // namespace specgen
