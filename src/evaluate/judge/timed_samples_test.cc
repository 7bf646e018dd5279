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
    round.baseline_ns = {4000, 4000, 4000, 4000};
    round.candidate_ns = {2000, 2100, 1900, 2000};
    honest.add(round, false);
    round.candidate_ns = {100, 100, 100, 7700};
    mover.add(round, false);
  }
  EXPECT_NEAR(honest.moved(), 1, 0.01);
  EXPECT_DOUBLE_EQ(mover.ratio().median, 40);
  EXPECT_DOUBLE_EQ(mover.moved(), 20);
}

TEST(TimedSamples, one_round_that_was_disturbed_is_no_work_that_moves) {
  TimedSamples samples;
  for (int i = 0; i < 4; ++i) samples.add(round_of(4000, 2000), false);
  Round disturbed = round_of(4000, 2000);
  disturbed.candidate_ns[1] = 90'000;
  samples.add(disturbed, false);
  EXPECT_DOUBLE_EQ(samples.moved(), 1);
}

TEST(TimedSamples, when_it_is_late_every_round_counts) {
  TimedSamples samples;
  Round spoiled = round_of(4000, 2000);
  spoiled.is_spoiled = true;
  spoiled.disturbed = 0.5;
  samples.add(spoiled, true);
  EXPECT_EQ(samples.size(), 2U);
  EXPECT_DOUBLE_EQ(samples.disturbed(), 0.5);
}

}  // namespace
}  // namespace specgen
