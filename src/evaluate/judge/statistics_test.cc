#include "evaluate/judge/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace specgen {
namespace {

std::vector<double> one_to(std::size_t n) {
  std::vector<double> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  Random random(n);
  random.shuffle(numbers);
  return numbers;
}

TEST(Statistics, the_median_is_the_middle_one_or_between_the_middle_two) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({1, 1, 1, 1e300}), 1);
}

TEST(Statistics, the_middle_of_huge_values_does_not_overflow) {
  double huge = std::numeric_limits<double>::max();
  EXPECT_EQ(median({huge, huge}), huge);
}

TEST(Statistics, few_samples_give_the_whole_range) {
  for (std::size_t n = 1; n < 9; ++n) {
    Interval interval = median_interval(one_to(n));
    EXPECT_EQ(interval.low, 1) << n;
    EXPECT_EQ(interval.high, static_cast<double>(n)) << n;
  }
}

// Against the tables of the sign test.
TEST(Statistics, the_ranks_are_those_of_the_exact_binomial) {
  const std::vector<std::pair<std::size_t, double>> low_ranks{
      {6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {25, 8}, {30, 10}, {40, 14}, {50, 18}};
  for (auto [n, rank] : low_ranks) {
    Interval interval = median_interval(one_to(n));
    EXPECT_EQ(interval.low, rank) << n;
    EXPECT_EQ(interval.high, static_cast<double>(n) + 1 - rank) << n;
  }
}

TEST(Statistics, many_samples_use_the_normal_approximation) {
  EXPECT_EQ(median_interval(one_to(100)), (Interval{.median = 50.5, .low = 40, .high = 61}));
  // Where the two meet, neither the rank nor the width jumps.
  Interval exact = median_interval(one_to(59));
  Interval normal = median_interval(one_to(60));
  EXPECT_LE(std::abs(normal.low - exact.low), 1);
  EXPECT_LE(std::abs(normal.high - exact.high), 2);
}

TEST(Statistics, wild_samples_do_not_move_the_interval) {
  std::vector<double> samples = one_to(40);
  Interval calm = median_interval(samples);
  for (double& sample : samples) {
    if (sample > 30) sample = std::numeric_limits<double>::infinity();
  }
  EXPECT_EQ(median_interval(samples), calm);
}

double normal_below(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

// Timings: log-normal around 1, and one in twelve is about five times as long.
constexpr double kSigma = 0.1;
constexpr double kOutliers = 1.0 / 12;
constexpr double kFactor = 5;

double noisy_timing(Random& random) {
  double factor = random.chance(kOutliers) ? kFactor : 1;
  return factor * random.log_normal(1, kSigma);
}

double true_median() {
  double low = 0.5;
  double high = 2;
  for (int step = 0; step < 100; ++step) {
    double middle = (low + high) / 2;
    double below = (1 - kOutliers) * normal_below(std::log(middle) / kSigma) +
                   kOutliers * normal_below(std::log(middle / kFactor) / kSigma);
    (below < 0.5 ? low : high) = middle;
  }
  return low;
}

TEST(Statistics, the_interval_contains_the_true_median_about_as_often_as_it_says) {
  constexpr int kTrials = 2000;
  const double truth = true_median();
  ASSERT_GT(truth, 1.0);  // the outliers are all on one side
  Random random(20240607);
  for (std::size_t n : {6, 7, 15, 30, 59, 60, 61, 200}) {
    int hits = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> samples(n);
      for (double& sample : samples) sample = noisy_timing(random);
      Interval interval = median_interval(std::move(samples));
      ASSERT_LE(interval.low, interval.median);
      ASSERT_LE(interval.median, interval.high);
      if (interval.low <= truth && truth <= interval.high) ++hits;
    }
    EXPECT_GE(hits, kTrials * 93 / 100) << n;
    EXPECT_LE(hits, kTrials * 99 / 100) << n;
  }
}

TEST(Statistics, a_ratio_is_taken_pair_by_pair) {
  // The machine was three times slower in the second half, for both: the ratio never moved.
  std::vector<double> baseline{200, 202, 198, 200, 600, 606, 594, 600};
  std::vector<double> candidate{100, 101, 99, 100, 300, 303, 297, 300};
  EXPECT_EQ(ratio_interval(baseline, candidate), (Interval{.median = 2, .low = 2, .high = 2}));
}

TEST(Statistics, the_geometric_mean_weighs_its_parts) {
  std::vector<Interval> parts{{.median = 2, .low = 2, .high = 2},
                              {.median = 16, .low = 16, .high = 16}};
  EXPECT_DOUBLE_EQ(weighted_geometric_mean(parts, std::vector<double>{1, 2}).median, 8);
  // Only the ratio of the weights counts, and a part of weight zero may be anything.
  EXPECT_DOUBLE_EQ(weighted_geometric_mean(parts, std::vector<double>{5, 10}).median, 8);
  parts.push_back({});
  EXPECT_DOUBLE_EQ(weighted_geometric_mean(parts, std::vector<double>{1, 2, 0}).median, 8);
}

TEST(Statistics, one_part_is_its_own_mean) {
  std::vector<Interval> parts{{.median = 3, .low = 2, .high = 7}};
  Interval mean = weighted_geometric_mean(parts, std::vector<double>{0.3});
  EXPECT_DOUBLE_EQ(mean.median, 3);
  EXPECT_DOUBLE_EQ(mean.low, 2);
  EXPECT_DOUBLE_EQ(mean.high, 7);
}

TEST(Statistics, independent_errors_partly_cancel_and_each_side_keeps_its_own) {
  // Four equal parts: the width in log space halves; downwards there was none.
  std::vector<Interval> parts(4, {.median = 1, .low = 1, .high = std::exp(0.2)});
  Interval mean = weighted_geometric_mean(parts, std::vector<double>(4, 1.0));
  EXPECT_DOUBLE_EQ(mean.median, 1);
  EXPECT_DOUBLE_EQ(mean.low, 1);
  EXPECT_NEAR(std::log(mean.high), 0.1, 1e-12);
}

TEST(Statistics, an_interval_that_says_nothing_stays_open) {
  std::vector<Interval> parts{
      {.median = 1, .low = 0, .high = std::numeric_limits<double>::infinity()}};
  Interval mean = weighted_geometric_mean(parts, std::vector<double>{1});
  EXPECT_EQ(mean.low, 0);
  EXPECT_TRUE(std::isinf(mean.high));
  EXPECT_FALSE(narrow_enough(mean, 100));
}

TEST(Statistics, narrow_is_a_share_of_the_median) {
  Interval interval{.median = 10, .low = 9, .high = 12};
  EXPECT_DOUBLE_EQ(relative_half_width(interval), 0.15);
  EXPECT_TRUE(narrow_enough(interval, 0.15));
  EXPECT_FALSE(narrow_enough(interval, 0.149));
  EXPECT_FALSE(narrow_enough({}, 1));  // no median at all
}

}  // namespace
}  // namespace specgen
