#include "speculate/stopping_policy.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Judged confirmed(double speedup) {
  return {.verdict = Verdict::ok, .speedup = {speedup, speedup, speedup}, .profiled = true};
}

const ReasoningTotals kNoTotals;

StoppingPolicy with(std::string_view criterion) {
  return {{}, parse_criterion(criterion).value(), kNoTotals, kNoTotals};
}
StoppingPolicy with_settings(StoppingSettings settings) {
  return {settings, {}, kNoTotals, kNoTotals};
}

ReasoningTrace reasoning_of(std::size_t bytes) {
  ReasoningTrace trace;
  trace.add(Delta{.kind = DeltaKind::reasoning, .text = std::string(bytes, 'x'), .token_ids = {}});
  return trace;
}

TEST(Criterion, every_name_is_read_back_as_it_was_written) {
  for (std::string text :
       {"beats-mean", "beats-best", "target=2.5", "peak-fraction=0.8", "never"}) {
    auto criterion = parse_criterion(text);
    ASSERT_TRUE(criterion) << text;
    EXPECT_EQ(to_string(*criterion), text);
  }
}

TEST(Criterion, an_invalid_one_is_refused_with_a_reason) {
  for (std::string text : {"", "beats", "beats-mean=2", "target", "target=", "target=0", "target=x",
                           "peak-fraction=1.5", "never=1", "target=nan"}) {
    auto criterion = parse_criterion(text);
    ASSERT_FALSE(criterion) << text;
    EXPECT_EQ(criterion.error().code, ErrorCode::bad_usage);
  }
  EXPECT_NE(parse_criterion("beats-meen").error().context.find("beats-mean"), std::string::npos);
}

TEST(Criterion, beats_mean_and_beats_best_require_more_than_there_was_before) {
  SpeedupsSoFar before{.mean = 1.5, .best = 2};
  EXPECT_TRUE(with("beats-mean").meets_criterion(confirmed(1.6), 0, before));
  EXPECT_FALSE(with("beats-mean").meets_criterion(confirmed(1.5), 0, before));
  EXPECT_FALSE(with("beats-best").meets_criterion(confirmed(1.9), 0, before));
  EXPECT_TRUE(with("beats-best").meets_criterion(confirmed(2.1), 0, before));
}

TEST(Criterion, only_a_confirmed_candidate_meets_one) {
  Judged screened = confirmed(5);
  screened.profiled = false;
  EXPECT_FALSE(with("beats-mean").meets_criterion(screened, 1, {}));
  Judged wrong = confirmed(5);
  wrong.verdict = Verdict::wrong;
  EXPECT_FALSE(with("beats-mean").meets_criterion(wrong, 1, {}));
  EXPECT_FALSE(with("never").meets_criterion(confirmed(5), 1, {}));
}

TEST(Criterion, a_speedup_within_the_noise_is_not_better) {
  Judged close = confirmed(1.6);
  close.speedup.low = 1.45;
  EXPECT_FALSE(with("beats-mean").meets_criterion(close, 0, {.mean = 1.5, .best = 1.5}));
  EXPECT_FALSE(with("beats-best").meets_criterion(close, 0, {.best = 1.5}));
}

TEST(Criterion, a_repeated_kernel_meets_none) {
  Judged again = confirmed(5);
  again.repeated = true;
  for (const char* text : {"beats-mean", "beats-best", "target=2", "peak-fraction=0.5"}) {
    EXPECT_FALSE(with(text).meets_criterion(again, 1, {})) << text;
  }
}

TEST(Criterion, target_and_peak_fraction_depend_on_the_candidate_alone) {
  EXPECT_FALSE(with("target=3").meets_criterion(confirmed(2.9), 0, {}));
  EXPECT_TRUE(with("target=3").meets_criterion(confirmed(3), 0, {.mean = 9, .best = 9}));
  EXPECT_FALSE(with("peak-fraction=0.8").meets_criterion(confirmed(9), 0.7, {}));
  EXPECT_TRUE(with("peak-fraction=0.8").meets_criterion(confirmed(1.1), 0.8, {}));
}

TEST(Criterion, a_task_ends_only_at_a_target) {
  Speedup fast{5, 5, 5};
  EXPECT_TRUE(with("target=3").reaches_target(fast, 0));
  EXPECT_FALSE(with("target=6").reaches_target(fast, 0));
  EXPECT_TRUE(with("peak-fraction=0.5").reaches_target({1.1, 1, 1.2}, 0.6));
  EXPECT_FALSE(with("beats-mean").reaches_target(fast, 1));
  EXPECT_FALSE(with("beats-best").reaches_target(fast, 1));
}

TEST(IterationEnds, are_read_by_their_names_and_by_those_of_older_journals) {
  for (int i = 0; i <= static_cast<int>(IterationEnd::restarted); ++i) {
    auto end = static_cast<IterationEnd>(i);
    EXPECT_EQ(parse_iteration_end(to_string(end)), end);
  }
  EXPECT_EQ(parse_iteration_end("overtaken"), IterationEnd::superseded);
  EXPECT_EQ(parse_iteration_end("given_up"), IterationEnd::abandoned);
  EXPECT_EQ(parse_iteration_end("begun_again"), IterationEnd::restarted);
  EXPECT_EQ(parse_iteration_end(""), std::nullopt);
  EXPECT_EQ(parse_iteration_end("ended"), std::nullopt);
}

TEST(StoppingPolicy, a_candidate_that_meets_the_criterion_stops_the_stream) {
  IterationProgress progress;
  auto stop = with_settings({}).after_result(
      progress, {.id = {4}, .has_feedback = true, .meets_criterion = true}, false, 100);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::stopped);
  EXPECT_EQ(stop->by, CandidateId{4});
}

TEST(StoppingPolicy, without_early_stop_nothing_stops_the_stream) {
  StoppingPolicy policy = with_settings({.early_stop = false, .abandon_after_failures = 1});
  IterationProgress progress;
  EXPECT_FALSE(policy.after_result(
      progress, {.id = {1}, .has_feedback = true, .meets_criterion = true}, false, 0));
  EXPECT_FALSE(policy.after_result(progress, {.id = {2}, .failed = true}, false, 0));
  EXPECT_TRUE(progress.has_feedback);
  EXPECT_FALSE(policy.after_reasoning(progress, reasoning_of(100'000)));
}

TEST(StoppingPolicy, a_decision_after_the_first_kernel_is_worth_one_more_result) {
  StoppingPolicy policy = with_settings({});
  IterationProgress progress{.decision_at = 1000};
  CandidateResult first{.id = {1},
                        .prefix_bytes = 100,
                        .has_feedback = true,
                        .meets_criterion = true,
                        .is_first = true};
  EXPECT_FALSE(policy.after_result(progress, first, false, 1100));
  auto stop = policy.after_result(progress, {.id = {2}, .failed = true}, false, 1200);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::stopped);
  EXPECT_EQ(stop->by, CandidateId{1});

  IterationProgress knows_it{.decision_at = 1000};
  first.prefix_bytes = 800;  // a cut may lie 256 bytes before its trigger
  EXPECT_TRUE(policy.after_result(knows_it, first, false, 1100));
}

TEST(StoppingPolicy, patience_after_a_candidate_that_met_the_criterion_ends) {
  StoppingPolicy policy = with_settings({});
  IterationProgress progress{.has_feedback = true, .winner = {7}, .winner_at = 1000};
  EXPECT_FALSE(policy.after_reasoning(progress, reasoning_of(1000 + 6144)));
  auto stop = policy.after_reasoning(progress, reasoning_of(1000 + 6145));
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::stopped);
  EXPECT_EQ(stop->by, CandidateId{7});
}

TEST(StoppingPolicy, abandons_a_stream_after_failures_in_a_row) {
  StoppingPolicy policy = with_settings({.abandon_after_failures = 2});
  IterationProgress progress;
  CandidateResult failure{.failed = true};
  EXPECT_FALSE(policy.after_result(progress, failure, false, 0));
  EXPECT_FALSE(policy.after_result(progress, {}, false, 0)) << "one that is ok";
  EXPECT_FALSE(policy.after_result(progress, failure, false, 0));
  auto stop = policy.after_result(progress, failure, false, 0);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::abandoned);
  EXPECT_TRUE(stop->note.starts_with("2 candidates")) << stop->note;

  IterationProgress other;
  StoppingPolicy never = with_settings({.abandon_after_failures = 0});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(never.after_result(other, failure, false, 0));
}

TEST(StoppingPolicy, a_failure_counts_unless_it_is_being_repaired) {
  StoppingPolicy policy = with_settings({.abandon_after_failures = 5});
  IterationProgress progress;
  policy.after_result(progress, {.failed = true}, true, 0);
  EXPECT_EQ(progress.failures, 0);
  policy.after_result(progress, {.failed = true, .repeated = true}, false, 0);
  EXPECT_EQ(progress.failures, 1);
  policy.after_result(progress, {.repeated = true}, false, 0);
  EXPECT_EQ(progress.failures, 1) << "that a known kernel works is no progress";
  policy.after_result(progress, {.repeated = true, .is_repair = true}, false, 0);
  EXPECT_EQ(progress.failures, 2) << "it has repaired nothing";
  progress.has_feedback = true;
  policy.after_result(progress, {.repeated = true, .is_repair = true}, false, 0);
  EXPECT_EQ(progress.failures, 2) << "it may repeat this iteration's own kernel";
}

TEST(StoppingPolicy, a_failure_does_not_count_where_nearly_all_candidates_fail) {
  StoppingPolicy policy = with_settings({});
  EXPECT_TRUE(policy.failure_counts(Origin::fork)) << "nothing is known yet";
  for (int i = 0; i < 20; ++i) policy.add_outcome(Origin::fork, false);
  EXPECT_FALSE(policy.failure_counts(Origin::fork));
  EXPECT_TRUE(policy.failure_counts(Origin::harvest)) << "drafts may be better than forks";
  IterationProgress progress;
  policy.after_result(progress, {.origin = Origin::fork, .failed = true}, false, 0);
  EXPECT_EQ(progress.failures, 0);
  policy.after_result(progress, {.origin = Origin::harvest, .failed = true}, false, 0);
  EXPECT_EQ(progress.failures, 1);
  for (int i = 0; i < 10; ++i) policy.add_outcome(Origin::fork, true);
  EXPECT_TRUE(policy.failure_counts(Origin::fork));
}

TEST(StoppingPolicy, knows_the_usual_tokens_from_the_task_and_from_the_run) {
  ReasoningTotals task, run;
  StoppingPolicy policy({}, {}, task, run);
  run = {.tokens = 1500, .stopped = 2};
  EXPECT_EQ(policy.usual_tokens(), 0) << "too few iterations were stopped";
  run = {.tokens = 1800, .stopped = 3};
  EXPECT_EQ(policy.usual_tokens(), 600) << "from the run alone";
  task = {.tokens = 1800, .stopped = 3};
  EXPECT_EQ(policy.usual_tokens(), (1800 + 600) / 4);
  task = {.tokens = 6000, .stopped = 0};
  run = {.tokens = 7800, .stopped = 3};
  EXPECT_EQ(policy.usual_tokens(), 6000 + 7800 / 3) << "the task has met the criterion never";
}

TEST(StoppingPolicy, abandons_a_stream_with_feedback_after_the_usual_tokens) {
  ReasoningTotals run{.tokens = 300, .stopped = 3};
  ReasoningTrace shorter = reasoning_of(200), longer = reasoning_of(400);
  ASSERT_LE(shorter.tokens(), 100);
  ASSERT_GT(longer.tokens(), 100);
  StoppingPolicy policy({}, {}, kNoTotals, run);
  IterationProgress progress{.has_feedback = true};
  EXPECT_FALSE(policy.after_reasoning(progress, shorter));
  auto stop = policy.after_reasoning(progress, longer);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::abandoned);
  EXPECT_FALSE(policy.after_reasoning({}, longer)) << "no feedback yet";
  IterationProgress won{.has_feedback = true, .winner = {1}};
  EXPECT_FALSE(policy.after_reasoning(won, longer)) << "patience ends it";
  StoppingPolicy twice({.settle_after = 2}, {}, kNoTotals, run);
  EXPECT_FALSE(twice.after_reasoning(progress, longer));
  StoppingPolicy never({.settle_after = 0}, {}, kNoTotals, run);
  EXPECT_FALSE(never.after_reasoning(progress, longer));
}

TEST(StoppingPolicy, fails_a_stream_that_is_larger_than_any_sensible_one) {
  StoppingPolicy policy = with_settings({});
  EXPECT_FALSE(policy.after_bytes(std::size_t{16} << 20));
  auto stop = policy.after_bytes((std::size_t{16} << 20) + 1);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->end, IterationEnd::failed);
}

TEST(StoppingPolicy, restarts_an_abandoned_stream_without_feedback_a_few_times_in_a_row) {
  StoppingPolicy policy = with_settings({.max_restarts = 2});
  const IterationEnd abandoned = IterationEnd::abandoned;
  EXPECT_EQ(policy.after_iteration(abandoned, true), abandoned);
  EXPECT_EQ(policy.after_iteration(abandoned, false), IterationEnd::restarted);
  EXPECT_EQ(policy.after_iteration(IterationEnd::interrupted, false), IterationEnd::interrupted);
  EXPECT_EQ(policy.after_iteration(abandoned, false), IterationEnd::restarted);
  EXPECT_EQ(policy.after_iteration(abandoned, false), abandoned) << "two in a row are enough";
  EXPECT_EQ(policy.after_iteration(abandoned, false), IterationEnd::restarted);
  EXPECT_EQ(policy.after_iteration(IterationEnd::answered, false), IterationEnd::answered);
  EXPECT_EQ(policy.after_iteration(abandoned, false), IterationEnd::restarted) << "a new row";
}

}  // namespace
}  // namespace specgen
