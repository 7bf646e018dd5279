#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class CudaForge : public testing::Test, protected WorkflowFixture {};

TEST_F(CudaForge, repairs_what_failed_and_optimises_what_works_on_one_chain) {
  ScriptedContext context(fixture.loop, {{{0}}, {{2.0}}, {{1.5}}, {{0}}, {{1.0}}}, 5);
  run("cudaforge", context);
  EXPECT_EQ(context.calls, (Calls{"writer c0", "judge c1", "repair c1", "judge c2", "writer c2",
                                  "judge c3", "writer c3", "judge c4", "repair c4"}))
      << "always from the newest, slower or broken";
}

TEST_F(CudaForge, has_no_memory_beside_the_newest_kernel) {
  ScriptedContext context(fixture.loop, {{{1.5}}, {{2.0}}, {{0}}, {{1.0}}}, 4);
  run("cudaforge", context);
  for (std::size_t i = 1; i < context.prompts.size(); ++i) {
    ASSERT_EQ(context.prompts[i].context.feedback.size(), 1u);
    EXPECT_EQ(context.prompts[i].context.feedback[0].source,
              context.prompts[i].context.parent_source);
  }
}

TEST_F(CudaForge, hands_the_judges_advice_to_the_coder) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 2);
  context.advice = "{\"bottleneck\": \"memory\"}";
  run("cudaforge", context);
  ASSERT_EQ(context.calls, (Calls{"writer c0", "judge c1", "writer c1"}));
  EXPECT_NE(context.prompts[1].messages.back().text.find("{\"text\":\"memory binds\"}"),
            std::string::npos)
      << "the judge reads the profile";
  EXPECT_EQ(context.prompts[2].context.advice, context.advice);
  EXPECT_NE(context.prompts[2].messages.back().text.find(context.advice), std::string::npos);
}

TEST_F(CudaForge, continues_from_the_newest_known_kernel) {
  ScriptedContext context(fixture.loop, {{{1.0}}}, 1);
  context.remember(scripted_kernel(1, 0, 3.0));
  context.remember(scripted_kernel(3, 2, 0));
  context.remember(scripted_kernel(2, 1, 2.0));  // judged late
  run("cudaforge", context);
  EXPECT_EQ(context.calls, (Calls{"judge c3", "repair c3"}));
}

TEST_F(CudaForge, stays_where_it_is_when_no_kernel_came) {
  ScriptedContext context(fixture.loop, {{{1.5}}, {}, {{2.0}}}, 3);
  run("cudaforge", context);
  EXPECT_EQ(context.calls, (Calls{"writer c0", "judge c1", "writer c1", "judge c1", "writer c1"}));
}

TEST_F(CudaForge, takes_the_best_that_speculation_found) {
  ScriptedContext context(
      fixture.loop, {{{2.0, Origin::fork}, {3.0, Origin::harvest}, {0, Origin::fork}}, {{1.0}}}, 2);
  run("cudaforge", context);
  EXPECT_EQ(context.calls, (Calls{"writer c0", "judge c2", "writer c2"}));
}

TEST_F(CudaForge, asks_for_no_kernel_when_the_judge_used_up_what_was_left) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 10);
  context.stops_while_advising = true;
  run("cudaforge", context);
  EXPECT_EQ(context.calls, (Calls{"writer c0", "judge c1"}));
}

TEST_F(CudaForge, ends_when_every_iteration_fails) {
  ScriptedContext context(fixture.loop, {{}}, 20);
  run("cudaforge", context);
  EXPECT_EQ(context.calls, Calls(20, "writer c0"));
}

}  // namespace
}  // namespace specgen
