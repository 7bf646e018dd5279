#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class KernelAgent : public testing::Test, protected WorkflowFixture {
 protected:
  static Calls part(const Calls& calls, std::size_t first, std::size_t count) {
    auto begin = calls.begin() + static_cast<std::ptrdiff_t>(std::min(first, calls.size()));
    return {begin, begin + static_cast<std::ptrdiff_t>(
                               std::min(count, calls.size() - std::min(first, calls.size())))};
  }
};

TEST_F(KernelAgent, writes_seeds_until_one_passes_and_then_a_beam) {
  ScriptedContext context(fixture.loop,
                          {{{0}}, {{1.5}}, {{2.0}}, {{1.8}}, {{1.9}}, {{1.7}}, {{3.0}}}, 10);
  run("kernelagent", context);
  EXPECT_EQ(part(context.calls, 0, 2), (Calls{"writer c0", "writer c0"}))
      << "the second seed passes and wins";
  // One kernel so far: all workers start from copies of it.
  EXPECT_EQ(part(context.calls, 2, 4), Calls(4, "bottleneck c2"));
  EXPECT_EQ(part(context.calls, 6, 4), Calls(4, "writer c2"));
  EXPECT_EQ(part(context.calls, 10, 4), Calls(4, "reflexion c2"));
  // Then from the two fastest, c3 and c5, in two directions each.
  EXPECT_EQ(part(context.calls, 14, 4),
            (Calls{"bottleneck c3", "bottleneck c3", "bottleneck c5", "bottleneck c5"}));
  EXPECT_EQ(part(context.calls, 18, 4),
            (Calls{"writer c3", "writer c3", "writer c5", "writer c5"}));
}

TEST_F(KernelAgent, workers_repair_their_own_seeds) {
  ScriptedContext context(fixture.loop, {{{0}}, {{0}}, {{0}}, {}, {{0}}, {{0}}, {{0}}, {{0}}}, 12);
  run("kernelagent", context);
  EXPECT_EQ(part(context.calls, 0, 4), Calls(4, "writer c0"));
  EXPECT_EQ(part(context.calls, 4, 4), (Calls{"repair c1", "repair c2", "repair c3", "writer c0"}))
      << "the fourth has nothing to repair";
  EXPECT_EQ(part(context.calls, 8, 4), (Calls{"repair c4", "repair c5", "repair c6", "repair c7"}));
  EXPECT_EQ(context.prompts[8].context.feedback.size(), 2u)
      << "a worker knows its own attempts only";
}

TEST_F(KernelAgent, abandons_seeds_after_ten_rounds_and_starts_over) {
  ScriptedContext context(fixture.loop, {{{0}}}, 44);
  run("kernelagent", context);
  EXPECT_EQ(context.calls.size(), 44u);
  EXPECT_EQ(part(context.calls, 40, 4), Calls(4, "writer c0"));
}

TEST_F(KernelAgent, repairs_an_optimised_kernel_three_times_at_most) {
  std::vector<ScriptedIteration> script{{{1.5}}};
  script.push_back({{0}});
  ScriptedContext context(fixture.loop, script, 17);
  run("kernelagent", context);
  auto repairs = std::ranges::count_if(context.calls,
                                       [](const auto& call) { return call.starts_with("repair"); });
  EXPECT_EQ(repairs, 12) << "four workers";
  EXPECT_EQ(context.calls.size(), 1u + 4 + 4 + 12) << "and no iteration more than may be";
}

TEST_F(KernelAgent, follows_another_bottleneck_in_each_direction) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 5);
  context.advice = R"(Here it is: ```json
{"bottlenecks": [{"category": "memory"}, {"category": "compute"}]}
```)";
  run("kernelagent", context);
  ASSERT_EQ(context.calls.size(), 9u);
  EXPECT_NE(context.prompts[5].context.advice.find("memory"), std::string::npos);
  EXPECT_EQ(context.prompts[5].context.advice.find("compute"), std::string::npos);
  EXPECT_NE(context.prompts[6].context.advice.find("compute"), std::string::npos);
}

TEST_F(KernelAgent, takes_advice_that_is_no_json_as_it_is) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 5);
  for (const char* said :
       {"use more {registers", "", "{\"bottlenecks\": 3}", "{\"bottlenecks\": []}", "}{"}) {
    ScriptedContext each(fixture.loop, {{{1.5}}}, 5);
    each.advice = said;
    run("kernelagent", each);
    ASSERT_EQ(each.calls.size(), 9u);
    EXPECT_EQ(each.prompts[5].context.advice, said);
  }
}

TEST_F(KernelAgent, shows_former_attempts_and_what_was_learned) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 9);
  context.advice = "tiles were too small";
  run("kernelagent", context);
  ASSERT_EQ(context.calls[17], "writer c1");
  std::string text = context.prompts[17].messages.back().text;
  EXPECT_NE(text.find("# What was learned from them\n\ntiles were too small"), std::string::npos);
  EXPECT_NE(text.find("# Former attempts"), std::string::npos);
}

TEST_F(KernelAgent, continues_with_the_beam_where_a_kernel_is_known) {
  ScriptedContext context(fixture.loop, {{{1.0}}}, 4);
  context.remember(scripted_kernel(1, 0, 1.3));
  context.remember(scripted_kernel(2, 1, 0));
  run("kernelagent", context);
  EXPECT_EQ(part(context.calls, 0, 4), Calls(4, "bottleneck c1"));
}

TEST_F(KernelAgent, continues_with_the_known_seeds) {
  ScriptedContext context(fixture.loop, {{{0}}}, 4);
  context.remember(scripted_kernel(1, 1, 0));
  context.remember(scripted_kernel(2, 2, 0));
  run("kernelagent", context);
  EXPECT_EQ(context.calls, (Calls{"repair c1", "repair c2", "writer c0", "writer c0"}));
}

TEST_F(KernelAgent, ends_when_it_may_not_go_on) {
  ScriptedContext none(fixture.loop, {{{1.0}}}, 0);
  run("kernelagent", none);
  EXPECT_TRUE(none.calls.empty());
  ScriptedContext silent(fixture.loop, {{}}, 30);
  run("kernelagent", silent);
  EXPECT_EQ(silent.calls.size(), 30u);
  ScriptedContext stopped(fixture.loop, {{{1.0}}}, 30);
  stopped.stops_while_advising = true;
  run("kernelagent", stopped);
  EXPECT_EQ(stopped.calls, (Calls{"writer c0", "bottleneck c1", "bottleneck c1", "bottleneck c1",
                                  "bottleneck c1"}));
}

}  // namespace
}  // namespace specgen
