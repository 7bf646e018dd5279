#include "generate/author/learning.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generate/author/author_kernel.h"

namespace specgen {
namespace {

constexpr std::string_view kPlan = R"(
//? decide width: how wide
//?   1: Plain.
//?   8: Eight.
//?   16: Sixteen.
//? decide sums: how many sums
//?   one: Simple.
//?   four: Latency.
//? decide passes: how many passes
//?   three: As written.
//?   two: Less traffic.
//? mistake missing_tail: There is no tail.
//? begin
int width = @width@, sums_@sums@, passes_@passes@;
//? if mistake != missing_tail
int tail;
//? end
)";

const KernelPlan& plan() {
  static const KernelPlan parsed = KernelPlan::parse(kPlan, "test").value();
  return parsed;
}

// Speeds of kernels on a fake machine, where a width of sixteen is too much.
double speed_of(const Decisions& made) {
  double speed = 1;
  if (made.at("width") == "8") speed *= 2;
  if (made.at("width") == "16") speed *= 1.5;
  if (made.at("sums") == "four") speed *= 1.4;
  if (made.at("passes") == "two") speed *= 0.8;
  return speed;
}

PromptContext context_with(std::vector<PromptFeedback> feedback) {
  return {.task = "toy", .backend = "cpu", .feedback = std::move(feedback)};
}

TEST(Learning, climbs_to_the_best_kernel_of_an_unknown_machine) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    PromptContext context = context_with({});
    double best = 0;
    for (int i = 0; i < 12; ++i) {
      Decisions goal = next_goal(plan(), context, random);
      bool slips = random.chance(0.4);
      double speedup = slips ? 0 : speed_of(goal);
      context.feedback.push_back({.source = plan().write(goal, slips ? "missing_tail" : ""),
                                  .verdict = slips ? "wrong" : "ok",
                                  .speedup = speedup});
      best = std::max(best, speedup);
    }
    EXPECT_GE(best, 2.0) << seed;
  }
}

TEST(Learning, a_slip_does_not_count_against_the_decisions) {
  Decisions made = completed(plan(), {{"width", "8"}});
  auto trials = trials_of(
      plan(), context_with({{.source = plan().write(made, "missing_tail"), .verdict = "wrong"},
                            {.source = plan().write(made), .verdict = "imprecise"},
                            {.source = plan().write(made), .verdict = "unstable_timing"},
                            {.source = "int of_another_author;", .verdict = "ok", .speedup = 9}}));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].mistake, "missing_tail");
  EXPECT_EQ(trials[1].mistake, "");
  EXPECT_EQ(best_of(trials), nullptr);
}

TEST(Learning, a_combination_that_failed_without_a_slip_is_not_tried_again) {
  Decisions start = completed(plan(), {});
  std::vector<PromptFeedback> feedback{
      {.source = plan().write(start), .verdict = "ok", .speedup = 1}};
  for (const char* value : {"8", "16"}) {
    Decisions made = start;
    made["width"] = value;
    feedback.push_back({.source = plan().write(made), .verdict = "crash"});
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Decisions goal = next_goal(plan(), context_with(feedback), random);
    EXPECT_TRUE(goal != completed(plan(), {{"width", "8"}}) &&
                goal != completed(plan(), {{"width", "16"}}));
  }
}

TEST(Learning, changes_one_or_two_decisions_of_the_best) {
  Decisions best = completed(plan(), {{"width", "8"}});
  PromptContext context =
      context_with({{.source = plan().write({}), .verdict = "ok", .speedup = 1},
                    {.source = plan().write(best), .verdict = "ok", .speedup = 2}});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Decisions goal = next_goal(plan(), context, random);
    int changed = 0;
    for (const auto& [name, value] : goal) changed += best.at(name) != value;
    EXPECT_GE(changed, 1);
    EXPECT_LE(changed, 2);
  }
}

TEST(Learning, follows_advice_that_names_a_decision) {
  PromptContext context = context_with({});
  context.advice = "Better: `passes = two`, not `passes = nine`.";
  Random random(1);
  EXPECT_EQ(next_goal(plan(), context, random), completed(plan(), {{"passes", "two"}}));
}

TEST(Learning, the_worth_of_a_choice_is_relative_to_the_others) {
  Decisions wide = completed(plan(), {{"width", "8"}});
  auto trials = trials_of(
      plan(), context_with({{.source = plan().write({}), .verdict = "ok", .speedup = 1},
                            {.source = plan().write(wide), .verdict = "ok", .speedup = 2}}));
  EXPECT_NEAR(worth_of(trials, "width", "8").value(), std::log(2), 1e-9);
  EXPECT_FALSE(worth_of(trials, "sums", "four"));
}

}  // namespace
}  // namespace specgen
