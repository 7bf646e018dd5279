#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class Refine : public testing::Test, protected WorkflowFixture {};

std::vector<std::string> sources_in(const Prompt& prompt) {
  std::vector<std::string> sources;
  for (const PromptFeedback& feedback : prompt.context.feedback) sources.push_back(feedback.source);
  return sources;
}

TEST_F(Refine, repairs_or_starts_over_in_turns_until_a_kernel_works) {
  ScriptedContext context(fixture.loop, {{{0}}, {{0}}, {{0}}, {}, {{1.5}}, {{1.2}}}, 6);
  run("refine", context);
  EXPECT_EQ(context.calls,
            (Calls{"writer c0", "repair c1", "writer c0", "repair c3", "repair c3", "writer c4"}));
  EXPECT_EQ(context.prompts[2].context.feedback.size(), 2u)
      << "failures are shown, so that they are not repeated";
}

TEST_F(Refine, improves_the_fastest_and_shows_the_others) {
  ScriptedContext context(fixture.loop, {{{1.5}}, {{2.5}}, {{2.0}}, {{0}}, {{3.0}}}, 6);
  run("refine", context);
  EXPECT_EQ(context.calls,
            (Calls{"writer c0", "writer c1", "writer c2", "writer c2", "writer c2", "writer c5"}));
  EXPECT_EQ(sources_in(context.prompts[5]).size(), 5u);
  EXPECT_EQ(context.prompts[5].context.parent_source, context.history()[4].source);
  std::string text = context.prompts[5].messages.back().text;
  EXPECT_LT(text.find("## 2.5 times"), text.find("## 2 times")) << "the fastest first";
  EXPECT_NE(text.find("## wrong"), std::string::npos);
}

TEST_F(Refine, looks_elsewhere_when_nothing_is_gained) {
  ScriptedContext context(fixture.loop,
                          {{{1.5}}, {{1.25}}, {{3.0}}, {{1.0}}, {{1.1}}, {{1.2}}, {{1.3}}}, 12);
  run("refine", context);
  Calls parents(context.calls.begin() + 3, context.calls.end());
  EXPECT_EQ((Calls{parents[0], parents[1], parents[2]}),
            (Calls{"writer c3", "writer c3", "writer c3"}));
  EXPECT_NE(parents[3], "writer c3") << "another parent";
  EXPECT_NE(parents[3], "writer c0");
  EXPECT_EQ(parents[4], "writer c3");
  EXPECT_EQ(parents[5], "writer c0") << "from the baseline again";
  EXPECT_NE(context.prompts[8].messages.back().text.find("another approach"), std::string::npos);
}

TEST_F(Refine, continues_from_what_is_known) {
  ScriptedContext context(fixture.loop, {{{1.0}}}, 1);
  context.remember(scripted_kernel(1, 0, 2.0));
  context.remember(scripted_kernel(2, 1, 1.5));
  run("refine", context);
  EXPECT_EQ(context.calls, Calls{"writer c1"});
}

TEST_F(Refine, uses_what_speculation_found) {
  ScriptedContext context(fixture.loop,
                          {{{2.0, Origin::harvest}, {3.0, Origin::fork}, {0}}, {{1.0}}}, 2);
  run("refine", context);
  EXPECT_EQ(context.calls[1], "writer c2");
  EXPECT_EQ(sources_in(context.prompts[1]).size(), 3u);
}

TEST_F(Refine, ends_when_it_may_not_go_on) {
  ScriptedContext none(fixture.loop, {{{1.0}}}, 0);
  run("refine", none);
  EXPECT_TRUE(none.calls.empty());
  ScriptedContext silent(fixture.loop, {{}}, 50);  // no kernel ever
  run("refine", silent);
  EXPECT_EQ(silent.calls.size(), 50u);
}

TEST_F(Refine, asks_no_two_prompts_alike) {
  ScriptedContext context(fixture.loop, {{}}, 3);
  run("refine", context);
  EXPECT_NE(context.prompts[0].context.seed, context.prompts[1].context.seed);
  EXPECT_EQ(context.prompts[2].context.iteration, 2);
}

TEST(Workflows, are_found_by_name) {
  std::vector<TaskBrief> briefs;
  PromptStore prompts = PromptStore::load({SPECGEN_SOURCE_DIR "/prompts"}).value();
  for (const std::string& name : workflow_names()) {
    EXPECT_TRUE(find_workflow(name, {.prompts = prompts, .briefs = briefs}).has_value()) << name;
  }
  auto unknown = find_workflow("cudaforgs", {.prompts = prompts, .briefs = briefs});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::unknown_name);
  EXPECT_NE(unknown.error().context.find("did you mean 'cudaforge'?"), std::string::npos);
}

}  // namespace
}  // namespace specgen
