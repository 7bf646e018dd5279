#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace specgen {
namespace {

std::vector<std::uint64_t> draw(Random& random, std::size_t count) {
  std::vector<std::uint64_t> drawn(count);
  std::ranges::generate(drawn, [&] { return random.next(); });
  return drawn;
}

std::vector<std::uint64_t> draw_from(Random random, std::size_t count) {
  return draw(random, count);
}

// The squared deviation from a uniform spread; for n cells its mean is n - 1, its deviation
// sqrt(2n).
double chi_square(const std::vector<int>& cells) {
  double expected = std::accumulate(cells.begin(), cells.end(), 0.0) / std::ssize(cells);
  double sum = 0;
  for (int cell : cells) sum += (cell - expected) * (cell - expected) / expected;
  return sum;
}

TEST(Random, the_same_seed_gives_the_published_numbers) {
  EXPECT_EQ(draw_from(Random(0), 2),
            (std::vector<std::uint64_t>{0x99ec5f36cb75f2b4, 0xbf6e1f784956452a}));
  EXPECT_EQ(draw_from(Random(42), 4),
            (std::vector<std::uint64_t>{0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1,
                                        0xecb8ad4703b360a1}));
}

TEST(Random, uniform_numbers_are_frozen_too) {
  Random random(42);
  EXPECT_EQ(random.uniform(), 0.08386297105988216);
  EXPECT_EQ(random.uniform(), 0.3789802506626686);
  EXPECT_EQ(random.uniform(10, 20), 10 + 10 * 0.6800434110281394);
}

TEST(Random, below_is_spread_evenly) {
  Random random(7);
  std::vector<int> cells(10);
  for (int i = 0; i < 100'000; ++i) ++cells.at(random.below(10));
  EXPECT_LT(chi_square(cells), 27.9);  // one seed in a thousand is worse
}

TEST(Random, below_has_no_bias_where_a_plain_remainder_has_a_large_one) {
  Random random(7);
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  std::vector<int> cells(3);
  for (int i = 0; i < 30'000; ++i) ++cells.at(random.below(3 * kThird) / kThird);
  EXPECT_LT(chi_square(cells), 13.8);  // a remainder would fill the first cell twice as often
}

TEST(Random, below_one_is_zero) {
  Random random(1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0u);
}

TEST(RandomDeathTest, below_zero_is_a_bug) {
  Random random(1);
  EXPECT_DEATH(random.below(0), "no number below zero");
}

TEST(Random, a_fork_is_independent_of_its_parent) {
  Random parent(5);
  Random twin(5);
  Random child = parent.fork("author");
  Random same_child = twin.fork("author");
  EXPECT_EQ(draw(child, 100), draw(same_child, 100));
  draw(child, 1000);  // must not affect the parent
  EXPECT_EQ(draw(parent, 100), draw(twin, 100));
}

TEST(Random, forks_differ_by_name_and_by_order) {
  Random random(5);
  auto turn_one = draw_from(random.fork("device"), 8);
  auto turn_two = draw_from(random.fork("device"), 8);
  auto other_name = draw_from(Random(5).fork("author"), 8);
  EXPECT_NE(turn_one, turn_two);
  EXPECT_NE(turn_one, other_name);
  EXPECT_NE(turn_one, draw_from(Random(5), 8));
}

TEST(Random, chance_is_never_at_zero_and_always_at_one) {
  Random random(3);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(random.chance(0));
    EXPECT_TRUE(random.chance(1));
    hits += random.chance(0.25);
  }
  EXPECT_NEAR(hits, 2500, 4 * std::sqrt(10'000 * 0.25 * 0.75));
}

TEST(Random, distributions_have_the_requested_shape) {
  Random random(11);
  constexpr int kDraws = 20'000;
  double waited = 0, sum = 0, squares = 0;
  int below_median = 0;
  for (int i = 0; i < kDraws; ++i) {
    double wait = random.exponential(3);
    EXPECT_GE(wait, 0);
    waited += wait;
    double noise = random.normal(10, 2);
    sum += noise;
    squares += (noise - 10) * (noise - 10);
    below_median += random.log_normal(5, 0.5) < 5;
  }
  EXPECT_NEAR(waited / kDraws, 3, 4 * 3 / std::sqrt(kDraws));
  EXPECT_NEAR(sum / kDraws, 10, 4 * 2 / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(squares / kDraws), 2, 0.05);
  EXPECT_NEAR(below_median, kDraws / 2, 4 * std::sqrt(kDraws) / 2);
}

TEST(Random, shuffle_keeps_every_item_and_is_uniform) {
  Random random(13);
  std::vector<int> first_place(4);
  for (int i = 0; i < 4000; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    random.shuffle(items);
    ++first_place.at(static_cast<std::size_t>(items[0]));
    std::ranges::sort(items);
    ASSERT_EQ(items, (std::vector<int>{0, 1, 2, 3}));
  }
  EXPECT_LT(chi_square(first_place), 16.3);
}

}  // namespace
}  // namespace specgen
