#include "generate/author/reasoning.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/text.h"
#include "generate/author/learning.h"
#include "generate/author/phrases.h"
#include "generate/author/tokens.h"

namespace specgen {
namespace {

constexpr std::string_view kPlan = R"(
//? decide width: how many elements a vector should have
//?   1: Plain loops.
//?   8: Eight elements.
//?   16: Sixteen elements.
//? decide sums: how many sums
//?   one: Simple.
//?   four: Hides latency.
//? decide passes: how many passes
//?   three: As written.
//?   two: Less traffic.
//? mistake missing_tail: There is no tail to care about.
//? mistake stale_sum: The sum may go on.
//? begin
#include <cstdint>
int width = @width@;
int sums_@sums@ = 1;
//? if mistake != missing_tail
int tail = width;
//? end
//? if mistake == stale_sum
int stale = 1;
//? end
int passes_@passes@ = 2;
)";

const KernelPlan& plan() {
  static const KernelPlan parsed = KernelPlan::parse(kPlan, "test").value();
  return parsed;
}

PromptContext context_for(std::uint64_t seed) {
  PromptContext context{.task = "toy", .backend = "cpu", .seed = seed};
  if (seed % 3 > 0) {
    context.parent_source = plan().write({{"width", "8"}}, seed % 2 ? "" : "stale_sum");
    context.feedback.push_back(
        {context.parent_source, seed % 2 ? "ok" : "wrong", seed % 2 ? 1.5 : 0, "so it `is`"});
    context.advice = "I'll take `sums = four`.";
    if (seed % 2 == 0) context.role = "repair";
  }
  return context;
}

// All fences of the text: offset and content.
std::vector<std::pair<std::size_t, std::string>> fences(std::string_view text) {
  std::vector<std::pair<std::size_t, std::string>> all;
  constexpr std::string_view kOpen = "```cpp\n";
  for (std::size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at)) {
    std::size_t begin = at + kOpen.size(), end = text.find("```", begin);
    all.emplace_back(at, std::string(text.substr(begin, end - begin)));
    at = end;
  }
  return all;
}

AuthorOptions options_with(double median) {
  AuthorOptions options;
  options.trace_median = median;
  return options;
}

std::size_t end_of_last_decision(const std::string& text) {
  std::size_t last = 0;
  Decisions made;
  for (std::size_t at = text.find("`."); at != std::string::npos; at = text.find("`.", at + 1)) {
    Decisions now = read_conclusions(plan(), text.substr(0, at + 2)).made;
    if (now != made) last = at;
    made = std::move(now);
  }
  return last;
}

TEST(AuthorReasoning, a_draft_is_the_kernel_of_the_decisions_before_it) {
  std::size_t drafts = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    PromptContext context = context_for(seed);
    Assignment assignment{context, plan(), 0.5, seed};
    std::string text = reason_about_kernel(assignment, options_with(2000));
    for (const auto& [at, source] : fences(text)) {
      ++drafts;
      EXPECT_EQ(source, kernel_after(assignment, std::string_view(text).substr(0, at)).source);
    }
  }
  EXPECT_GT(drafts, 120U);
}

TEST(AuthorReasoning, a_cut_anywhere_gives_the_decisions_whose_sentences_are_complete) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    PromptContext context = context_for(seed);
    std::string text = reason_about_kernel({context, plan(), 0.5, seed}, options_with(300));
    Decisions made;
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      Decisions now = read_conclusions(plan(), std::string_view(text).substr(0, cut)).made;
      if (now == made) continue;
      // Decisions change only at a full stop after a pair.
      ASSERT_TRUE(std::string_view(text).substr(0, cut).ends_with("`."))
          << text.substr(0, cut).substr(cut > 60 ? cut - 60 : 0);
      made = now;
    }
    EXPECT_FALSE(made.empty());
  }
}

TEST(AuthorReasoning, ends_with_every_decision_of_its_goal) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    PromptContext context = context_for(seed);
    if (context.role == "repair") continue;
    Assignment assignment{context, plan(), 0.5, seed};
    std::string text = reason_about_kernel(assignment, options_with(500));
    Random aims = random_from(assignment.draw, "goal");
    EXPECT_EQ(read_conclusions(plan(), text).made, next_goal(plan(), context, aims));
  }
}

TEST(AuthorReasoning, sometimes_revises_a_decision) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    PromptContext context = context_for(3 * seed);
    std::string text = reason_about_kernel({context, plan(), 0.5, seed}, options_with(300));
    std::map<std::string, std::string> made;
    bool revised = false;
    for (std::size_t at = text.find("`."); at != std::string::npos; at = text.find("`.", at + 1)) {
      for (const auto& [name, value] : read_conclusions(plan(), text.substr(0, at + 2)).made) {
        revised = revised || (made.contains(name) && made[name] != value);
        made[name] = value;
      }
    }
    changed += revised;
  }
  EXPECT_GT(changed, 15);
  EXPECT_LT(changed, 55);
}

TEST(AuthorReasoning, text_by_others_decides_nothing) {
  PromptContext context = context_for(1);
  context.advice = "I'll take `passes = two`.\n```cpp\nint x;\n```";
  context.feedback[0].evidence = context.feedback[0].verdict = context.advice;
  std::string text = reason_about_advice({context, plan(), 0.5, 1}, options_with(2000));
  EXPECT_TRUE(read_conclusions(plan(), text).made.empty());
  EXPECT_TRUE(fences(text).empty());
}

TEST(AuthorReasoning, traces_have_about_the_requested_length_and_end_in_slack) {
  for (double median : {1500.0, 6000.0}) {
    std::vector<double> lengths, slacks;
    for (std::uint64_t seed = 0; seed < 61; ++seed) {
      PromptContext context = context_for(3 * seed);
      std::string text = reason_about_kernel({context, plan(), 0.5, seed}, options_with(median));
      double tokens = static_cast<double>(count_author_tokens(text));
      std::size_t last = end_of_last_decision(text);
      lengths.push_back(tokens);
      slacks.push_back(static_cast<double>(count_author_tokens(text.substr(last))) / tokens);
    }
    double mean = std::accumulate(slacks.begin(), slacks.end(), 0.0) / 61;
    std::ranges::sort(lengths);
    std::ranges::sort(slacks);
    EXPECT_NEAR(lengths[30], median, 0.25 * median);
    EXPECT_LT(lengths[3], 0.8 * lengths[30]);
    EXPECT_GT(lengths[57], 1.2 * lengths[30]);
    // In a short trace the decisions leave less slack.
    EXPECT_NEAR(mean, options_with(median).slack, median < 2000 ? 0.25 : 0.12);
    EXPECT_LT(slacks[6], 0.4);
    EXPECT_GT(slacks[54], median < 2000 ? 0.5 : 0.8);
  }
}

TEST(AuthorReasoning, continues_from_a_prefix) {
  PromptContext context = context_for(0);
  Assignment assignment{context, plan(), 0.5, 4};
  std::string before = "I'll take `width = 16`.";
  std::string text = reason_about_kernel(assignment, options_with(500), before);
  EXPECT_TRUE(text.starts_with("\n\n"));
  EXPECT_EQ(read_conclusions(plan(), before + text).made.size(), 3U);
}

TEST(AuthorReasoning, the_same_draw_gives_the_same_text) {
  PromptContext context = context_for(4);
  Assignment one{context, plan(), 0.5, 7}, other{context, plan(), 0.5, 8};
  EXPECT_EQ(reason_about_kernel(one, {}), reason_about_kernel(one, {}));
  EXPECT_NE(reason_about_kernel(one, {}), reason_about_kernel(other, {}));
}

TEST(Phrases, none_states_a_decision) {
  for (const auto& [list, phrases] : phrase_lists()) {
    EXPECT_FALSE(phrases.empty()) << list;
    for (std::string_view phrase : phrases) {
      EXPECT_FALSE(begins_a_decision(phrase)) << phrase;
      EXPECT_EQ(phrase.find("```"), std::string_view::npos) << phrase;
    }
  }
}

}  // namespace
}  // namespace specgen
