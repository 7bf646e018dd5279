#include "speculate/stream_follower.h"

#include <gtest/gtest.h>

#include "speculate/scripted_iteration.h"

namespace specgen {
namespace {

Delta reasoning(std::string text) {
  return {.kind = DeltaKind::reasoning, .text = std::move(text), .token_ids = {}};
}

class StreamFollowerTest : public testing::Test {
 protected:
  StreamFollowerTest() {
    TriggerSet set;
    TriggerPattern& decided = set.patterns.emplace_back();
    decided.name = "decided";
    decided.regex = "I decide";
    triggers = Triggers::compile(std::move(set)).value();
  }
  std::unique_ptr<Triggers> triggers;
};

TEST_F(StreamFollowerTest, keeps_reasoning_and_answer_apart) {
  StreamFollower follower("cpu", true, triggers.get());
  follower.follow(reasoning("Let me see. "));
  follower.follow({.kind = DeltaKind::content, .text = fenced(1), .token_ids = {}});
  EXPECT_EQ(follower.reasoning().text(), "Let me see. ");
  EXPECT_EQ(follower.answer(), fenced(1));
  EXPECT_EQ(follower.bytes(), 12 + fenced(1).size());
}

TEST_F(StreamFollowerTest, finds_a_draft_with_the_delta_that_completes_it) {
  StreamFollower follower("cpu", true, nullptr);
  const std::string draft = fenced(7);
  EXPECT_TRUE(follower.follow(reasoning(draft.substr(0, 40))).drafts.empty());
  StreamFindings& found = follower.follow(reasoning(draft.substr(40)));
  ASSERT_EQ(found.drafts.size(), 1u);
  EXPECT_EQ(found.drafts[0].source, kernel(7));
  EXPECT_FALSE(found.has_repeated_draft);
  EXPECT_TRUE(follower.follow(reasoning("So.\n")).drafts.empty()) << "of one delta only";
}

TEST_F(StreamFollowerTest, reports_a_repeated_draft_as_such) {
  StreamFollower follower("cpu", true, nullptr);
  follower.follow(reasoning(fenced(7)));
  StreamFindings& found = follower.follow(reasoning("Again:\n" + fenced(7)));
  EXPECT_TRUE(found.drafts.empty());
  EXPECT_TRUE(found.has_repeated_draft);
  EXPECT_FALSE(follower.follow(reasoning("So.\n")).has_repeated_draft);
}

TEST_F(StreamFollowerTest, finds_a_trigger_that_is_split_over_deltas_once) {
  StreamFollower follower("cpu", true, triggers.get());
  EXPECT_TRUE(follower.follow(reasoning("Let me see.\nI dec")).triggers.empty());
  StreamFindings& found = follower.follow(reasoning("ide to tile.\nAnd then"));
  ASSERT_EQ(found.triggers.size(), 1u);
  EXPECT_EQ(found.triggers[0].pattern->name, "decided");
  EXPECT_TRUE(follower.follow(reasoning(" more.\n")).triggers.empty());
}

TEST_F(StreamFollowerTest, finds_nothing_in_the_answer) {
  StreamFollower follower("cpu", true, triggers.get());
  StreamFindings& found = follower.follow(
      {.kind = DeltaKind::content, .text = "I decide.\n\n" + fenced(1), .token_ids = {}});
  EXPECT_TRUE(found.drafts.empty());
  EXPECT_TRUE(found.triggers.empty());
}

TEST_F(StreamFollowerTest, finds_only_what_it_is_made_for) {
  StreamFollower neither("cpu", false, nullptr);
  StreamFindings& found = neither.follow(reasoning("I decide.\n\n" + fenced(7) + "\n"));
  EXPECT_TRUE(found.drafts.empty());
  EXPECT_TRUE(found.triggers.empty());
  EXPECT_TRUE(neither.finish().drafts.empty());
}

TEST_F(StreamFollowerTest, finds_a_draft_that_ends_with_the_stream) {
  StreamFollower follower("cpu", true, nullptr);
  EXPECT_TRUE(follower.follow(reasoning("So:\n\n" + kernel(7))).drafts.empty());
  StreamFindings& found = follower.finish();
  ASSERT_EQ(found.drafts.size(), 1u);
  EXPECT_NE(found.drafts[0].source.find("7 * x[0]"), std::string::npos);
}

TEST_F(StreamFollowerTest, estimates_the_tokens_before_an_offset_by_its_share) {
  StreamFollower follower("cpu", false, nullptr);
  follower.follow(reasoning(std::string(300, 'x')));
  const std::int64_t all = follower.reasoning().tokens();
  EXPECT_EQ(follower.tokens_before(0), 0);
  EXPECT_EQ(follower.tokens_before(150), all / 2);
  EXPECT_EQ(follower.tokens_before(300), all);
  EXPECT_EQ(follower.tokens_before(9999), all);
}

}  // namespace
}  // namespace specgen
