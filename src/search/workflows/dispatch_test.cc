#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class Dispatch : public testing::Test, protected WorkflowFixture {};

TEST_F(Dispatch, asks_two_at_once_from_what_was_known_before_both) {
  ScriptedContext context(fixture.loop, {{{1.5}}, {{2.5}}, {{2.0}}, {{3.0}}, {{1.0}}}, 6);
  run("dispatch2", context);
  EXPECT_EQ(context.calls,
            (Calls{"writer c0", "writer c0", "writer c2", "writer c2", "writer c4", "writer c4"}));
  EXPECT_NE(context.prompts[0].context.seed, context.prompts[1].context.seed);
}

TEST_F(Dispatch, ends_in_the_middle_of_a_round_if_it_must) {
  ScriptedContext context(fixture.loop, {{{1.5}}}, 3);
  run("dispatch2", context);
  EXPECT_EQ(context.calls.size(), 3u);
}

}  // namespace
}  // namespace specgen
