#include "evaluate/task/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace specgen {
namespace {

using Kind = Distribution::Kind;
constexpr std::size_t kCount = 200000;

std::vector<std::byte> filled(Dtype dtype, const Distribution& distribution, std::uint64_t seed = 9,
                              std::size_t count = kCount) {
  std::vector<std::byte> tensor(count * size_of(dtype));
  fill(tensor, dtype, distribution, seed);
  return tensor;
}
std::vector<double> numbers(Dtype dtype, const Distribution& distribution, std::uint64_t seed = 9,
                            std::size_t count = kCount) {
  std::vector<double> all(count);
  to_doubles(dtype, filled(dtype, distribution, seed, count), all);
  return all;
}
double mean(const std::vector<double>& all) {
  double sum = 0;
  for (double x : all) sum += x;
  return sum / static_cast<double>(all.size());
}
double deviation(const std::vector<double>& all) {
  double middle = mean(all), sum = 0;
  for (double x : all) sum += (x - middle) * (x - middle);
  return std::sqrt(sum / static_cast<double>(all.size()));
}

// Written down once: a change of the algorithm changes every recorded result.
TEST(Data, the_first_numbers_are_these) {
  std::array<std::byte, 16> tensor;
  auto bits = [&](Dtype dtype, Distribution distribution) {
    fill(tensor, dtype, distribution, 1);
    std::array<std::uint32_t, 4> words;
    std::memcpy(words.data(), tensor.data(), sizeof(words));
    return words;
  };
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(bits(Dtype::f32, {Kind::normal, 0, 1}),
            (Words{0xbf1e155e, 0x3f894672, 0x3fcc723f, 0x3f981880}));
  EXPECT_EQ(bits(Dtype::f32, {Kind::uniform, -1, 1}),
            (Words{0x3e085168, 0x3efbae34, 0x3f712744, 0xbde3e7a0}));
  EXPECT_EQ(bits(Dtype::f16, {Kind::heavy, 1, 1}),
            (Words{0x304ad0f1, 0x48c14264, 0xa447242f, 0xb0442616}));
  EXPECT_EQ(bits(Dtype::f64, {Kind::normal, 1, 3}),
            (Words{0x3e5aea0c, 0xbfeb4803, 0xad3ae5f8, 0x4010de9a}));
  EXPECT_EQ(bits(Dtype::i32, {Kind::integers, -5, 1000}),
            (Words{0x00000234, 0x000002e8, 0x000003ca, 0x000001b9}));
}

TEST(Data, normal_numbers_have_their_mean_and_deviation) {
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    std::vector<double> all = numbers(dtype, {Kind::normal, 3, 2});
    EXPECT_NEAR(mean(all), 3, 0.02) << to_string(dtype);
    EXPECT_NEAR(deviation(all), 2, 0.02) << to_string(dtype);
    EXPECT_LE(std::ranges::max(all), 3 + 3.47 * 2);
    EXPECT_GE(std::ranges::min(all), 3 - 3.47 * 2);
  }
}

TEST(Data, uniform_numbers_stay_in_their_range_and_fill_it) {
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (Kind kind : {Kind::uniform, Kind::positive}) {
      std::vector<double> all = numbers(dtype, {kind, 0.5, 2});
      EXPECT_GE(std::ranges::min(all), 0.5);
      EXPECT_LE(std::ranges::max(all), 2);
      EXPECT_NEAR(mean(all), 1.25, 0.01);
      EXPECT_NEAR(deviation(all), 1.5 / std::sqrt(12), 0.01);
    }
  }
}

TEST(Data, heavy_numbers_span_many_powers_of_two) {
  std::vector<double> all = numbers(Dtype::f32, {Kind::heavy, 1, 1});
  EXPECT_GT(std::ranges::max(all), 100);
  EXPECT_LE(std::ranges::max(all), 3.47 * 64);
  auto below = std::ranges::count_if(all, [](double x) { return std::abs(x) < 1.0 / 32; });
  EXPECT_GT(below, static_cast<std::ptrdiff_t>(kCount / 10));
  EXPECT_NEAR(mean(all), 0, 0.2);
}

TEST(Data, integers_take_every_value_from_low_and_not_high) {
  for (Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::u8, Dtype::f32, Dtype::f16, Dtype::f64}) {
    std::vector<double> all = numbers(dtype, {Kind::integers, 0, 10});
    std::set<double> values(all.begin(), all.end());
    EXPECT_EQ(values, (std::set<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << to_string(dtype);
    EXPECT_NEAR(mean(all), 4.5, 0.05);
  }
  EXPECT_EQ(std::ranges::min(numbers(Dtype::i32, {Kind::integers, -3, -1})), -3);
}

TEST(Data, a_seed_and_an_index_determine_the_number) {
  Distribution normal{Kind::normal, 0, 1};
  EXPECT_EQ(filled(Dtype::f32, normal, 5), filled(Dtype::f32, normal, 5));
  EXPECT_NE(filled(Dtype::f32, normal, 5), filled(Dtype::f32, normal, 6));
  for (Dtype dtype : {Dtype::f64, Dtype::f16, Dtype::f32}) {
    std::vector<std::byte> whole = filled(dtype, normal, 5, 2000);
    std::vector<std::byte> pieces(whole.size());
    std::size_t cut = 777 * size_of(dtype);
    fill(std::span(pieces).subspan(cut), dtype, normal, 5, 777);
    fill(std::span(pieces).first(cut), dtype, normal, 5);
    EXPECT_EQ(pieces, whole);
  }
}

// From builds for processors without and with wide vectors.
TEST(Data, every_processor_makes_the_same_bits) {
  auto sum = [](Kind kind) {
    std::uint64_t sum = 0;
    for (std::byte byte : filled(Dtype::f32, {kind, 0, 2}, 59, 1 << 18)) {
      sum = 31 * sum + std::to_integer<std::uint64_t>(byte);
    }
    return sum;
  };
  EXPECT_EQ(sum(Kind::normal), 0xfe880734f826dfd5);
  EXPECT_EQ(sum(Kind::uniform), 0xf9d71b50b200f726);
}

TEST(Data, neighbouring_seeds_and_elements_have_nothing_in_common) {
  std::vector<double> one = numbers(Dtype::f32, {Kind::normal, 0, 1}, 5);
  std::vector<double> two = numbers(Dtype::f32, {Kind::normal, 0, 1}, 6);
  double across = 0, along = 0;
  for (std::size_t i = 1; i < kCount; ++i) {
    across += one[i] * two[i];
    along += one[i] * one[i - 1];
  }
  EXPECT_NEAR(across / kCount, 0, 0.015);
  EXPECT_NEAR(along / kCount, 0, 0.015);
}

}  // namespace
}  // namespace specgen
