#include "schedule/verdict_memory.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Judged judged(Verdict verdict, std::string text = {}) {
  return {.verdict = verdict, .feedback = std::move(text), .spans = {StageSpan{}}};
}

TEST(VerdictMemory, returns_a_remembered_verdict_without_its_spans) {
  VerdictMemory memory(10);
  memory.remember("a", judged(Verdict::wrong, "no"));
  ASSERT_TRUE(memory.find("a"));
  EXPECT_EQ(memory.find("a")->feedback, "no");
  EXPECT_TRUE(memory.find("a")->spans.empty());
  EXPECT_FALSE(memory.find("b"));
  memory.remember("a", judged(Verdict::ok, "yes"));
  EXPECT_EQ(memory.find("a")->feedback, "yes");
  EXPECT_EQ(memory.size(), 1u);
}

TEST(VerdictMemory, does_not_keep_verdicts_that_may_differ_next_time) {
  VerdictMemory memory(10);
  memory.remember("a", judged(Verdict::harness_error));
  memory.remember("b", judged(Verdict::unstable_timing));
  Judged withdrawn = judged(Verdict::ok);
  withdrawn.withdrawn = true;
  memory.remember("c", withdrawn);
  EXPECT_EQ(memory.size(), 0u);
}

TEST(VerdictMemory, forgets_the_oldest_beyond_its_limits) {
  VerdictMemory few(2);
  for (std::string key : {"a", "b", "c"}) few.remember(key, judged(Verdict::ok));
  EXPECT_FALSE(few.find("a"));
  EXPECT_TRUE(few.find("b") && few.find("c"));

  VerdictMemory small(100, KiB(10));
  for (std::string key : {"a", "b", "c"})
    small.remember(key, judged(Verdict::ok, std::string(4'000, 'x')));
  EXPECT_EQ(small.size(), 2u);
  EXPECT_FALSE(small.find("a"));
}

TEST(VerdictMemory, a_verdict_larger_than_the_limit_is_not_kept) {
  VerdictMemory small(100, KiB(1));
  small.remember("a", judged(Verdict::ok, std::string(4'000, 'x')));
  EXPECT_EQ(small.size(), 0u);
}

}  // namespace
}  // namespace specgen
