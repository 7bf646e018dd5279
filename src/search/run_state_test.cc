#include "search/run_state.h"

#include <gtest/gtest.h>

#include "journal/journal.h"

namespace specgen {
namespace {

using std::chrono::seconds;

class AState : public testing::Test {
 protected:
  AState() {
    note(to_entry(
        RunBegun{.tasks = {{"softmax", "tasks/softmax", "cpu"}, {"gelu", "tasks/gelu", "cpu"}},
                 .workflow = "refine",
                 .criterion = "beats-mean",
                 .model = "author",
                 .seed = 7,
                 .budgets = {.wall = seconds(60), .tokens = 1000, .iterations = 3}}));
  }
  void note(EntryText text) {
    entries.push_back({.sequence = entries.size() + 1,
                       .at = {},
                       .type = std::move(text.first),
                       .body = std::move(text.second)});
    auto applied = state.apply(entries.back());
    if (!applied) refusal = applied.error();
  }
  void find(std::uint64_t id, std::uint64_t iteration, Origin origin = Origin::main) {
    note(to_entry(
        CandidateFound{.id = {id}, .iteration = {iteration}, .origin = origin, .source = {"ab"}}));
  }
  void judge(std::uint64_t id, double speedup) {
    note(to_entry(CandidateJudged{.id = {id},
                                  .verdict = Verdict::ok,
                                  .speedup = {speedup, speedup, speedup},
                                  .profiled = true}));
  }

  RunState state;
  std::vector<Entry> entries;
  std::optional<Error> refusal;
};

TEST_F(AState, folds_to_itself) {
  note(to_entry(IterationBegun{.id = {1}, .task = 1, .role = "writer"}));
  note(to_entry(CallSent{.id = 1, .iteration = {1}, .purpose = "main", .max_tokens = 500}));
  find(1, 1, Origin::harvest);
  judge(1, 1.5);
  note(to_entry(CallDone{.id = 1,
                         .outcome = CallOutcome::cancelled,
                         .usage = {.prompt_tokens = 10, .completion_tokens = 90},
                         .dollars = 0.25,
                         .sent = seconds(1),
                         .ended = seconds(4)}));
  note(to_entry(IterationEnded{.id = {1},
                               .end = IterationEnd::stopped,
                               .by = {1},
                               .tokens = 90,
                               .saved_tokens = 40,
                               .refusals = {0, 3}}));
  ASSERT_FALSE(refusal) << refusal->summary();

  RunState again = fold<RunState>(entries).value();
  EXPECT_EQ(again.digest(), state.digest());
  EXPECT_EQ(again.run.budgets.wall, seconds(60));
  EXPECT_EQ(again.run.tasks[1].where, "tasks/gelu");
  EXPECT_EQ(again.tokens.main, 100);
  EXPECT_EQ(again.tokens.saved, 40);
  EXPECT_DOUBLE_EQ(again.dollars, 0.25);
  EXPECT_EQ(again.last_at, seconds(4));
  EXPECT_EQ(again.iterations.at({1}).ended->by, CandidateId{1});
  EXPECT_EQ(again.iterations.at({1}).ended->refusals, (RefusalCounts{0, 3}));
  EXPECT_EQ(again.iterations.at({1}).feedback, 1u);
  EXPECT_EQ(again.tasks[1].best, CandidateId{1});
}

TEST_F(AState, has_another_digest_when_anything_that_matters_differs) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  find(1, 1);
  std::uint64_t before = state.digest();
  RunState other = state;
  judge(1, 2);
  EXPECT_NE(state.digest(), before);
  ASSERT_TRUE(other.apply(
      {.sequence = 4, .at = {}, .type = "judged", .body = R"({"id":1,"withdrawn":true})"}));
  EXPECT_NE(other.digest(), before);
  EXPECT_NE(other.digest(), state.digest());
}

TEST_F(AState, knows_the_mean_and_the_best_of_what_is_confirmed) {
  EXPECT_EQ(state.tasks[0].so_far().mean, 1);
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  for (std::uint64_t id : {1, 2, 3}) find(id, 1);
  judge(1, 2);
  judge(2, 4);
  note(to_entry(CandidateJudged{.id = {3}, .verdict = Verdict::wrong, .evidence = "y[3] is off"}));
  EXPECT_EQ(state.tasks[0].so_far().mean, 3);
  EXPECT_EQ(state.tasks[0].so_far().best, 4);
  EXPECT_EQ(state.tasks[0].best, CandidateId{2});
  EXPECT_EQ(state.candidates.at({3}).judged->evidence, "y[3] is off");
  EXPECT_TRUE(state.tasks[1].confirmed.empty());
}

TEST_F(AState, follows_what_is_tuned_with_speedup_mean_and_best) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  for (std::uint64_t id : {1, 2}) find(id, 1);
  judge(1, 2);
  judge(2, 4);
  std::uint64_t before = state.digest();
  note(to_entry(CandidateTuned{.id = {1},
                               .speedup = {5, 4.5, 5.5},
                               .peak_fraction = 0.5,
                               .tunables = {{"BLOCK", 512}},
                               .source = {"cd"},
                               .evaluation = {"ef"},
                               .at = seconds(9)}));
  ASSERT_FALSE(refusal) << refusal->summary();
  RunState again = fold<RunState>(entries).value();
  EXPECT_EQ(again.digest(), state.digest());
  EXPECT_NE(state.digest(), before);
  const CandidateState& tuned = again.candidates.at({1});
  EXPECT_EQ(tuned.speedup().low, 4.5);
  EXPECT_EQ(tuned.judged->speedup.median, 2);
  EXPECT_EQ(tuned.tunables(), (Values{{"BLOCK", 512}}));
  EXPECT_EQ(tuned.source().sha256, "cd");
  EXPECT_EQ(tuned.evaluation().sha256, "ef");
  EXPECT_EQ(again.tasks[0].best, CandidateId{1});
  EXPECT_EQ(again.tasks[0].so_far().mean, 4.5);
  EXPECT_EQ(again.tasks[0].so_far().best, 5);
  EXPECT_EQ(again.last_at, seconds(9));
  note(to_entry(CandidateTuned{.id = {1}, .speedup = {6, 6, 6}}));
  EXPECT_TRUE(refusal);  // once
}

TEST_F(AState, refuses_tuning_that_gains_nothing_or_of_what_is_no_feedback) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  for (std::uint64_t id : {1, 2}) find(id, 1);
  judge(1, 2);
  note(to_entry(CandidateTuned{.id = {2}, .speedup = {6, 6, 6}}));
  EXPECT_TRUE(std::exchange(refusal, {}));
  note(to_entry(CandidateTuned{.id = {1}, .speedup = {2, 2, 2}}));
  EXPECT_TRUE(refusal);
}

TEST_F(AState, counts_a_kernel_that_is_known_already_as_no_feedback) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  note(to_entry(IterationBegun{.id = {2}, .task = 0, .role = "writer"}));
  find(1, 1);
  find(2, 2);
  judge(1, 2);
  note(to_entry(CandidateJudged{.id = {2},
                                .verdict = Verdict::ok,
                                .speedup = {2, 2, 2},
                                .profiled = true,
                                .repeated = true}));
  EXPECT_EQ(state.iterations.at({1}).feedback, 1u);
  EXPECT_EQ(state.iterations.at({2}).feedback, 0u);
  EXPECT_EQ(state.tasks[0].confirmed.size(), 1u);
}

TEST_F(AState, leaves_the_kernel_of_a_shadow_out_of_what_is_used) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  note(to_entry(CandidateFound{.id = {1}, .iteration = {1}, .source = {"ab"}, .shadow = true}));
  judge(1, 9);
  EXPECT_TRUE(state.tasks[0].confirmed.empty());
  EXPECT_EQ(state.iterations.at({1}).feedback, 0u);
  EXPECT_EQ(state.candidates.at({1}).judged->speedup.median, 9);
}

TEST_F(AState, keeps_the_spans_of_a_candidate_to_the_microsecond) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  find(1, 1);
  note(to_entry(
      CandidateJudged{.id = {1},
                      .verdict = Verdict::crash,
                      .spans = {{.stage = Stage::validate,
                                 .device = "cpu:0",
                                 .queued = Time(seconds(1)),
                                 .started = Time(seconds(2)),
                                 .ended = Time(seconds(2) + std::chrono::microseconds(3))}}}));
  const StageSpan& span = state.candidates.at({1}).judged->spans.at(0);
  EXPECT_EQ(span.stage, Stage::validate);
  EXPECT_EQ(span.device, "cpu:0");
  EXPECT_EQ(span.ended - span.started, std::chrono::microseconds(3));
}

TEST_F(AState, counts_a_call_without_a_reported_end_as_charged_once_resumed) {
  note(to_entry(IterationBegun{.id = {1}, .task = 0, .role = "writer"}));
  note(to_entry(CallSent{.id = 1, .iteration = {1}, .purpose = "main", .max_tokens = 500}));
  EXPECT_EQ(state.tokens.maybe_charged, 0);
  note(resumed_entry(seconds(9)));
  EXPECT_EQ(state.tokens.maybe_charged, 500);
  note(resumed_entry(seconds(9)));
  EXPECT_EQ(state.tokens.maybe_charged, 500);
  EXPECT_EQ(state.resumptions, 2u);
}

TEST_F(AState, refuses_what_cannot_have_happened) {
  auto refuses = [&](EntryText text) {
    refusal.reset();
    note(std::move(text));
    return refusal && refusal->code == ErrorCode::journal_damaged;
  };
  EXPECT_TRUE(refuses(to_entry(RunBegun{.tasks = {{"a", "a", "cpu"}}})));
  EXPECT_TRUE(refuses(to_entry(IterationBegun{.id = {1}, .task = 2})));
  EXPECT_TRUE(refuses(to_entry(IterationEnded{.id = {1}})));
  note(to_entry(IterationBegun{.id = {1}, .task = 0}));
  EXPECT_TRUE(refuses(to_entry(IterationBegun{.id = {1}, .task = 0})));
  EXPECT_TRUE(refuses(to_entry(CandidateFound{.id = {1}, .iteration = {2}})));
  find(1, 1);
  EXPECT_TRUE(refuses(to_entry(CandidateFound{.id = {1}, .iteration = {1}})));
  judge(1, 1);
  EXPECT_TRUE(refuses(to_entry(CandidateJudged{.id = {1}, .verdict = Verdict::ok})));
  EXPECT_TRUE(refuses(to_entry(CallDone{.id = 5})));
  EXPECT_TRUE(refuses({"jugded", "{}"}));
}

TEST_F(AState, totals_the_reasoning_of_the_run_and_of_each_task) {
  std::uint64_t last = 0;
  auto iterate = [&](std::uint32_t task, IterationEnd end, std::int64_t tokens) {
    ++last;
    note(to_entry(IterationBegun{.id = {last}, .task = task, .role = "writer"}));
    find(last, last);
    judge(last, 1.5);
    note(to_entry(IterationEnded{.id = {last},
                                 .end = end,
                                 .by = {end == IterationEnd::stopped ? last : 0},
                                 .tokens = tokens}));
  };
  for (int i = 0; i < 3; ++i) iterate(0, IterationEnd::stopped, 500);
  iterate(1, IterationEnd::answered, 6000);
  ASSERT_FALSE(refusal) << refusal->summary();
  EXPECT_EQ(state.tasks[0].reasoning.tokens, 1500);
  EXPECT_EQ(state.tasks[0].reasoning.stopped, 2) << "the first had only the baseline to beat";
  EXPECT_EQ(state.tasks[1].reasoning.tokens, 6000);
  EXPECT_EQ(state.tasks[1].reasoning.stopped, 0);
  EXPECT_EQ(state.reasoning.tokens, 7500);
  EXPECT_EQ(state.reasoning.stopped, 2);
}

TEST(AnEmptyState, asks_for_a_beginning) {
  RunState state;
  EXPECT_FALSE(state.begun());
  EXPECT_FALSE(state.apply({.sequence = 1, .at = {}, .type = "resumed", .body = "{}"}));
}

}  // namespace
}  // namespace specgen
