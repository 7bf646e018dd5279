#include "evaluate/judge/timed_samples.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Round round_of(double baseline_ns, double candidate_ns) {
  Round round;
  round.baseline_ns = {baseline_ns, baseline_ns};
  round.candidate_ns = {candidate_ns, candidate_ns};
  return round;
}

TEST(TimedSamples, say_how_long_both_take) {
  TimedSamples samples;
  for (int i = 0; i < 3; ++i) samples.add(round_of(4000, 2000), false);
  EXPECT_EQ(samples.size(), 6U);
  EXPECT_DOUBLE_EQ(samples.ratio().median, 2);
  EXPECT_DOUBLE_EQ(samples.baseline_seconds(), 4e-6);
  EXPECT_DOUBLE_EQ(samples.candidate_seconds(), 2e-6);
  EXPECT_EQ(samples.disturbed(), 0);
}

TEST(TimedSamples, a_round_in_which_the_device_changed_its_pace_does_not_count) {
  TimedSamples samples;
  Round spoiled = round_of(4000, 400);
  spoiled.is_spoiled = true;
  samples.add(spoiled, false);
  EXPECT_EQ(samples.size(), 0U);
  for (int i = 0; i < 3; ++i) samples.add(round_of(4000, 2000), false);
  EXPECT_DOUBLE_EQ(samples.ratio().high, 2);
  EXPECT_DOUBLE_EQ(samples.disturbed(), 0.25);
}

TEST(TimedSamples, work_that_moves_from_call_to_call_is_seen_in_the_sum) {
  TimedSamples honest, mover;
  for (int i = 0; i < 5; ++i) {
    Round round;
    round.baseline_ns = {4e6, 4e6, 4e6, 4e6};
    round.candidate_ns = {2e6, 2.1e6, 1.9e6, 2e6};
    honest.add(round, false);
    round.candidate_ns = {1e5, 1e5, 1e5, 7.7e6};
    mover.add(round, false);
  }
  EXPECT_NEAR(honest.moved(), 1, 0.01);
  EXPECT_DOUBLE_EQ(mover.ratio().median, 40);
  EXPECT_NEAR(mover.moved(), 20, 0.1);
}

TEST(TimedSamples, one_disturbed_round_does_not_count_as_moved_work) {
  TimedSamples samples;
  for (int i = 0; i < 4; ++i) samples.add(round_of(4e6, 2e6), false);
  Round disturbed = round_of(4e6, 2e6);
  disturbed.candidate_ns[1] = 9e7;
  samples.add(disturbed, false);
  EXPECT_NEAR(samples.moved(), 1, 0.01);
}

TEST(TimedSamples, a_first_call_with_cold_code_does_not_count_as_moved_work) {
  TimedSamples samples;
  for (int i = 0; i < 5; ++i) {
    Round round;
    round.baseline_ns = {4e5, 4e5, 4e5, 4e5};
    round.candidate_ns = {20'000, 5000, 5000, 5000};
    samples.add(round, false);
  }
  EXPECT_LE(samples.moved(), 1.2);
}

TEST(TimedSamples, when_it_is_late_every_round_counts) {
  TimedSamples samples;
  Round spoiled = round_of(4000, 2000);
  spoiled.is_spoiled = true;
  for (int i = 0; i < 2; ++i) samples.add(spoiled, false);
  EXPECT_EQ(samples.size(), 0U);
  for (int i = 0; i < 2; ++i) samples.add(spoiled, true);
  EXPECT_EQ(samples.size(), 8U);
  EXPECT_DOUBLE_EQ(samples.disturbed(), 1);
}

TEST(TimedSamples, a_baseline_of_two_speeds_is_not_the_candidates_doing) {
  TimedSamples samples;
  for (int i = 0; i < 5; ++i) {
    Round round;
    round.baseline_ns = {2e6, 1e6, 2e6, 1e6, 2e6};
    round.candidate_ns = {1e6, 1e6, 1e6, 1e6, 1e6};
    samples.add(round, false);
  }
  EXPECT_DOUBLE_EQ(samples.ratio().median, 2);
  EXPECT_NEAR(samples.moved(), 1, 0.01);
}

}  // namespace
}  // namespace specgen
