#include "evaluate/task/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"

namespace specgen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kAll{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                          Dtype::i64, Dtype::i32, Dtype::u8};

template <class Bits>
Bits stored(Dtype dtype, double value) {
  std::array<std::byte, sizeof(Bits)> bytes{};
  from_doubles(dtype, std::span(&value, 1), bytes);
  return std::bit_cast<Bits>(bytes);
}
std::uint16_t half(double value) {
  return stored<std::uint16_t>(Dtype::f16, value);
}
std::uint16_t bfloat(double value) {
  return stored<std::uint16_t>(Dtype::bf16, value);
}
double value_of(Dtype dtype, std::uint16_t bits) {
  return load(dtype, std::as_bytes(std::span(&bits, 1)), 0);
}

TEST(Dtype, names_go_both_ways) {
  for (Dtype dtype : kAll) EXPECT_EQ(parse_dtype(to_string(dtype)).value(), dtype);
  auto wrong = parse_dtype("fp16");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().context, "'fp16' is not a dtype; did you mean 'f16'?");
}

TEST(Dtype, the_unit_roundoff_is_half_of_the_step_at_one) {
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    double u = unit_roundoff(dtype);
    std::vector<double> in{1 + u, 1 + 1.5 * u, 1 + 3 * u};  // tie to even, up, tie to even
    if (dtype == Dtype::f64) in = {1, 1 + 2 * u, 1 + 4 * u};
    std::vector<std::byte> bytes(in.size() * size_of(dtype));
    from_doubles(dtype, in, bytes);
    std::vector<double> out(in.size());
    to_doubles(dtype, bytes, out);
    EXPECT_EQ(out, (std::vector<double>{1, 1 + 2 * u, 1 + 4 * u})) << to_string(dtype);
  }
  EXPECT_EQ(unit_roundoff(Dtype::i32), 0);
  EXPECT_FALSE(is_float(Dtype::u8));
}

// Every f16 and bf16 there is, and every midpoint between neighbours.
TEST(Dtype, sixteen_bit_floats_round_to_nearest_even_everywhere) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    std::uint16_t infinity = dtype == Dtype::f16 ? 0x7c00 : 0x7f80;
    int wrong = 0;
    for (std::uint16_t bits = 0; bits < infinity; ++bits) {
      double value = value_of(dtype, bits);
      auto above_bits = static_cast<std::uint16_t>(bits + 1);
      double above = above_bits < infinity ? value_of(dtype, above_bits)
                                           : value + (value - value_of(dtype, bits - 1));
      double middle = value + (above - value) / 2;
      std::uint16_t even = bits % 2 == 0 ? bits : above_bits;
      wrong += value >= above;
      wrong += stored<std::uint16_t>(dtype, value) != bits;
      wrong += stored<std::uint16_t>(dtype, -value) != (bits | 0x8000);
      wrong += stored<std::uint16_t>(dtype, middle) != even;
      wrong += stored<std::uint16_t>(dtype, std::nextafter(middle, 0)) != bits;
      wrong += stored<std::uint16_t>(dtype, std::nextafter(middle, kInfinity)) != above_bits;
    }
    EXPECT_EQ(wrong, 0) << to_string(dtype);
  }
}

TEST(Dtype, known_bit_patterns_of_f16_and_bf16) {
  EXPECT_EQ(half(1), 0x3c00);
  EXPECT_EQ(half(-2), 0xc000);
  EXPECT_EQ(half(65504), 0x7bff);
  EXPECT_EQ(half(65519.99), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(-1e300), 0xfc00);
  EXPECT_EQ(half(0x1p-24), 0x0001);
  EXPECT_EQ(half(0x1p-25), 0x0000);
  EXPECT_EQ(half(0x1p-14), 0x0400);
  EXPECT_EQ(half(5e-324), 0x0000);
  EXPECT_EQ(half(-0.0), 0x8000);
  EXPECT_EQ(half(kInfinity), 0x7c00);
  EXPECT_EQ(bfloat(1), 0x3f80);
  EXPECT_EQ(bfloat(-kInfinity), 0xff80);
  EXPECT_EQ(bfloat(3.4e38), 0x7f80);
  EXPECT_EQ(bfloat(0x1p-133), 0x0001);
  EXPECT_EQ(value_of(Dtype::f16, 0x7c00), kInfinity);
  EXPECT_EQ(value_of(Dtype::bf16, 0xff80), -kInfinity);
}

TEST(Dtype, a_nan_stays_a_nan) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  // A payload that the narrow formats cannot hold must not turn it into infinity.
  double low_payload = std::bit_cast<double>(0x7ff0000000000001);
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (double value : {nan, -nan, low_payload}) {
      std::vector<std::byte> bytes(size_of(dtype));
      from_doubles(dtype, std::span(&value, 1), bytes);
      EXPECT_TRUE(std::isnan(load(dtype, bytes, 0))) << to_string(dtype);
    }
  }
  EXPECT_TRUE(std::isnan(value_of(Dtype::f16, 0xfe01)));
}

TEST(Dtype, integers_round_and_stop_at_their_range) {
  EXPECT_EQ(stored<std::int32_t>(Dtype::i32, 2.5), 2);
  EXPECT_EQ(stored<std::int32_t>(Dtype::i32, -3.5), -4);
  EXPECT_EQ(stored<std::int32_t>(Dtype::i32, 1e10), 2147483647);
  EXPECT_EQ(stored<std::int64_t>(Dtype::i64, -1e300), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(stored<std::int64_t>(Dtype::i64, 0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(stored<std::uint8_t>(Dtype::u8, -1), 0);
  EXPECT_EQ(stored<std::uint8_t>(Dtype::u8, 255.6), 255);
  EXPECT_EQ(stored<std::int32_t>(Dtype::i32, std::nan("")), 0);
}

TEST(Dtype, elements_may_lie_at_any_address) {
  std::vector<std::byte> bytes(1 + 3 * 8);
  std::vector<double> in{1, -2, 3};
  from_doubles(Dtype::f64, in, std::span(bytes).subspan(1));
  std::vector<double> out(3);
  to_doubles(Dtype::f64, std::span(bytes).subspan(1), out);
  EXPECT_EQ(out, in);
}

TEST(Poison, every_element_is_poison_until_it_is_written) {
  for (Dtype dtype : kAll) {
    std::vector<std::byte> tensor(100 * size_of(dtype));
    poison(dtype, tensor, {.secret = 42});
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(is_poison(dtype, tensor, i, {.secret = 42})) << to_string(dtype) << i;
      if (is_float(dtype)) EXPECT_TRUE(std::isnan(load(dtype, tensor, i)));
    }
    double one = 1;
    from_doubles(dtype, std::span(&one, 1),
                 std::span(tensor).subspan(7 * size_of(dtype), size_of(dtype)));
    EXPECT_TRUE(!is_poison(dtype, tensor, 7, {.secret = 42}) || dtype == Dtype::u8);
    EXPECT_TRUE(is_poison(dtype, tensor, 8, {.secret = 42}));
  }
}

TEST(Poison, a_nan_that_a_processor_makes_is_not_poison) {
  constexpr std::array<std::uint16_t, 4> kHalf{0x7e00, 0xfe00, 0x7fff, 0xffff};
  constexpr std::array<std::uint16_t, 4> kBfloat{0x7fc0, 0xffc0, 0x7fff, 0xffff};
  constexpr std::array<std::uint32_t, 4> kFloat{0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff};
  for (std::uint64_t secret = 0; secret < 2000; ++secret) {
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_FALSE(is_poison(Dtype::f16, std::as_bytes(std::span(kHalf)), i, {secret}));
      EXPECT_FALSE(is_poison(Dtype::bf16, std::as_bytes(std::span(kBfloat)), i, {secret}));
      EXPECT_FALSE(is_poison(Dtype::f32, std::as_bytes(std::span(kFloat)), i, {secret}));
    }
  }
}

TEST(Poison, integers_differ_by_element_and_floats_by_secret) {
  std::vector<std::byte> words(8 * 1000);
  poison(Dtype::i64, words, {.secret = 1});
  int same = 0;
  for (std::size_t i = 1; i < 1000; ++i) {
    same += std::memcmp(&words[8 * i], &words[8 * (i - 1)], 8) == 0;
  }
  EXPECT_EQ(same, 0);
  std::vector<std::byte> floats(4);
  poison(Dtype::f32, floats, {.secret = 1});
  EXPECT_FALSE(is_poison(Dtype::f32, floats, 0, {.secret = 2}));
}

}  // namespace
}  // namespace specgen
