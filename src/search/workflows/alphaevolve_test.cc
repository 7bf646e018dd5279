#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class AlphaEvolve : public testing::Test, protected WorkflowFixture {
 protected:
  static std::vector<ScriptedIteration> many() {
    std::vector<ScriptedIteration> script;
    for (int i = 0; i < 60; ++i) script.push_back({{i % 3 == 0 ? 0 : 1.0 + 0.05 * ((i * 7) % 31)}});
    return script;
  }
};

TEST_F(AlphaEvolve, evolves_the_baseline_by_diffs) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 1);
  run("alphaevolve", context);
  EXPECT_EQ(context.calls, Calls{"diff c0"});
  EXPECT_EQ(context.prompts[0].context.parent_source, "the baseline");
}

TEST_F(AlphaEvolve, rewrites_at_the_ratio_that_is_asked_for) {
  evolution.rewrites = 0.5;
  ScriptedContext context(fixture.loop, many(), 60);
  run("alphaevolve", context);
  auto rewrites = std::ranges::count_if(
      context.calls, [](const auto& call) { return call.starts_with("writer"); });
  EXPECT_GT(rewrites, 15);
  EXPECT_LT(rewrites, 45);
}

TEST_F(AlphaEvolve, shows_top_and_other_kernels_of_the_island) {
  evolution.islands = 1;
  ScriptedContext context(fixture.loop, many(), 30);
  run("alphaevolve", context);
  std::string text = context.prompts.back().messages.back().text;
  for (const char* heading :
       {"# Top kernels", "# Other kernels", "# Inspirations", "# The best so far"}) {
    EXPECT_NE(text.find(heading), std::string::npos) << heading;
  }
  EXPECT_GE(context.prompts.back().context.feedback.size(), 5u);
}

TEST_F(AlphaEvolve, keeps_islands_apart) {
  evolution.islands = 2;
  evolution.migration_interval = 1000;
  ScriptedContext context(fixture.loop, many(), 40);
  run("alphaevolve", context);
  // Iterations alternate, so an island's kernels all have odd numbers or all have even ones; c0 began the first.
  for (std::size_t i = 4; i < context.history().size(); ++i) {
    const KnownKernel& kernel = context.history()[i];
    if (kernel.parent == CandidateId{}) continue;
    EXPECT_EQ(kernel.id.value % 2, kernel.parent.value % 2) << to_string(kernel.id);
  }
}

TEST_F(AlphaEvolve, has_the_same_islands_after_a_resume) {
  evolution.migration_interval = 3;
  ScriptedContext whole(fixture.loop, many(), 30);
  run("alphaevolve", whole);

  ScriptedContext resumed(fixture.loop, {{{1.0}}}, 1);
  ScriptedContext as_if_never_stopped(fixture.loop, {{{1.0}}}, 1);
  for (const KnownKernel& kernel : whole.history()) resumed.remember(kernel);
  run("alphaevolve", resumed);
  // Again from the beginning, with the dice of a fresh process for the next prompt.
  ScriptedContext again(fixture.loop, many(), 30);
  run("alphaevolve", again);
  ASSERT_EQ(again.calls, whole.calls) << "the same seed takes the same steps";
  for (const KnownKernel& kernel : again.history()) as_if_never_stopped.remember(kernel);
  run("alphaevolve", as_if_never_stopped);
  EXPECT_EQ(resumed.prompts[0].messages.back().text,
            as_if_never_stopped.prompts[0].messages.back().text);
}

TEST_F(AlphaEvolve, takes_every_kernel_that_speculation_found) {
  evolution.islands = 1;
  ScriptedContext context(fixture.loop,
                          {{{4.0, Origin::harvest}, {0, Origin::fork}, {2.0}}, {{1.0}}}, 2);
  run("alphaevolve", context);
  EXPECT_EQ(context.prompts[1].context.feedback.size(), 4u) << "three, and the baseline";
}

TEST_F(AlphaEvolve, begins_with_the_kernel_that_the_run_was_started_from) {
  ScriptedContext context(fixture.loop, {{{1.0}}}, 1);
  context.remember(scripted_kernel(1, 0, 1.3));
  run("alphaevolve", context);
  EXPECT_EQ(context.calls, Calls{"diff c1"});
}

TEST_F(AlphaEvolve, writes_a_first_kernel_where_the_baseline_is_a_module) {
  briefs[0].is_pytorch = true;
  ScriptedContext context(fixture.loop, {{}, {{1.5}}, {{1.6}}}, 3);
  run("alphaevolve", context);
  EXPECT_EQ(context.calls, (Calls{"writer c0", "writer c0", "diff c1"}));
}

TEST_F(AlphaEvolve, ends_when_every_iteration_fails) {
  ScriptedContext silent(fixture.loop, {{}}, 30);
  run("alphaevolve", silent);
  EXPECT_EQ(silent.calls, Calls(30, "diff c0"));
  ScriptedContext wrong(fixture.loop, {{{0}}}, 30);
  run("alphaevolve", wrong);
  EXPECT_EQ(wrong.calls.size(), 30u);
  ScriptedContext none(fixture.loop, {{}}, 0);
  run("alphaevolve", none);
  EXPECT_TRUE(none.calls.empty());
}

}  // namespace
}  // namespace specgen
