#include "evaluate/judge/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace specgen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr Poison kPoison{.secret = 77};

struct Example {
  Case of;
  Tensor tensor{"y", Dtype::f32, {}, 0};
  Expected expected;
  std::vector<std::byte> got;
  Tolerance tolerance;

  Example(std::vector<std::int64_t> shape, Dtype dtype = Dtype::f32) {
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    tensor.elements = 1;
    for (std::int64_t length : tensor.shape) tensor.elements *= length;
    of.axes = {{"rows", 4}};
    of.reduction = 100;
    tolerance = tolerance_of(CheckPolicy{}, of, dtype);
    Random random(5);
    for (std::int64_t i = 0; i < tensor.elements; ++i) {
      double value = random.uniform(-2, 2);
      expected.value.push_back(is_float(dtype) ? value : std::round(100 + 40 * value));
      expected.scale.push_back(10);
    }
    got.resize(tensor.bytes());
    from_doubles(dtype, expected.value, got);
  }
  void set(std::size_t i, double value) {
    std::size_t size = size_of(tensor.dtype);
    from_doubles(tensor.dtype, std::span(&value, 1), std::span(got).subspan(i * size, size));
  }
  void expect(std::size_t i, double value, double scale) {
    expected.value[i] = value;
    expected.scale[i] = scale;
  }
  void unwrite(std::size_t i) {
    std::vector<std::byte> fresh(got.size());
    poison(tensor.dtype, fresh, kPoison);
    std::size_t size = size_of(tensor.dtype);
    std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                got.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  OutputReport report() const { return compare(tensor, got, expected, tolerance, kPoison); }
  Finding judged(double baseline_rms = -1) const {
    return judge_output(of, tensor, report(), tolerance, baseline_rms);
  }
  double bound(std::size_t i) const {
    return tolerance.scale_factor * expected.scale[i] +
           tolerance.value_factor * std::abs(expected.value[i]);
  }
};

TEST(Compare, what_is_rounded_right_is_ok_in_every_dtype) {
  for (Dtype dtype :
       {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::u8}) {
    Example example({37, 41}, dtype);
    OutputReport report = example.report();
    EXPECT_EQ(report.elements, 37 * 41);
    EXPECT_EQ(report.unwritten + report.nonfinite + report.beyond, 0) << to_string(dtype);
    EXPECT_LE(report.worst_ratio, 1);
    EXPECT_TRUE(example.judged().ok()) << to_string(dtype);
  }
}

TEST(Compare, the_bound_is_correct_rounding_times_the_tolerance) {
  Example example({10});
  EXPECT_DOUBLE_EQ(example.tolerance.scale_factor, 8 * 0x1p-24 * 12);
  EXPECT_DOUBLE_EQ(example.tolerance.value_factor, 1.01 * 0x1p-24);
  example.set(3, example.expected.value[3] + 0.9 * example.bound(3));
  EXPECT_TRUE(example.judged().ok());
  example.set(3, example.expected.value[3] + 1.1 * example.bound(3));
  EXPECT_EQ(example.report().beyond, 1);
  EXPECT_EQ(example.judged().verdict, Verdict::imprecise);
  EXPECT_EQ(tolerance_of(CheckPolicy{}, example.of, Dtype::i32).scale_factor, 0);
}

TEST(Compare, one_wrong_element_among_many_is_found_and_reported) {
  Example example({40, 50});
  example.expect(173, 0.4987, 1);
  example.set(173, 0.5987);
  OutputReport report = example.report();
  EXPECT_EQ(report.beyond, 1);
  EXPECT_EQ(report.worst_at, 173);
  EXPECT_NEAR(report.worst_relative, 0.1, 1e-6);
  Finding finding = example.judged();
  EXPECT_EQ(finding.verdict, Verdict::wrong);
  EXPECT_TRUE(finding.evidence.text.starts_with("y[3, 23] is 0.5987, expected 0.4987 (error "))
      << finding.evidence.text;
  EXPECT_TRUE(finding.evidence.text.ends_with("times the bound); 1 of 2000 elements are outside"))
      << finding.evidence.text;
  EXPECT_EQ(finding.evidence.case_name, "rows=4");
  ASSERT_EQ(finding.evidence.worst.size(), 1U);
  EXPECT_EQ(finding.evidence.worst[0].index, (std::vector<std::int64_t>{3, 23}));
}

TEST(Compare, unwritten_comes_before_nonfinite_before_wrong) {
  Example example({2000});
  example.set(100, 50);
  EXPECT_EQ(example.judged().verdict, Verdict::wrong);
  example.set(200, kNan);
  example.set(300, -kInfinity);
  EXPECT_EQ(example.judged().verdict, Verdict::nonfinite);
  EXPECT_EQ(example.report().worst_at, 200);
  EXPECT_EQ(example.report().nonfinite, 2);
  example.unwrite(1500);
  example.unwrite(1600);
  OutputReport report = example.report();
  EXPECT_EQ(report.worst_at, 1500);
  EXPECT_EQ(report.unwritten, 2);
  EXPECT_EQ(report.nonfinite, 2);
  EXPECT_EQ(report.beyond, 1);
  EXPECT_EQ(example.judged().evidence.text,
            "y[1500] was never written; 2 of 2000 elements still hold their initial contents");
}

TEST(Compare, a_float_left_unwritten_is_found_even_where_nan_is_right) {
  Example example({4});
  example.expect(2, kNan, 0);
  example.unwrite(2);
  EXPECT_EQ(example.report().unwritten, 1);
  example.set(2, kNan);
  EXPECT_TRUE(example.judged().ok());
}

TEST(Compare, a_correct_integer_counts_as_written_even_if_it_equals_the_poison) {
  Example example({1000}, Dtype::u8);
  for (std::size_t i = 0; i < 1000; ++i) example.unwrite(i);
  auto equal = static_cast<std::int64_t>(0);
  for (std::size_t i = 0; i < 1000; ++i) {
    equal += load(Dtype::u8, example.got, i) == example.expected.value[i];
  }
  EXPECT_EQ(example.report().unwritten, 1000 - equal);
  Example off({10}, Dtype::i32);
  off.set(4, off.expected.value[4] + 1);
  EXPECT_EQ(off.report().beyond, 1);
  EXPECT_EQ(off.judged().verdict, Verdict::wrong);
  EXPECT_FALSE(off.judged().evidence.text.contains("bound")) << off.judged().evidence.text;
}

TEST(Compare, where_the_reference_is_not_finite_the_output_must_be_the_same) {
  Example example({8});
  example.expect(1, kInfinity, kInfinity);
  example.set(1, kInfinity);
  example.expect(2, kNan, kNan);
  example.set(2, kNan);
  EXPECT_TRUE(example.judged().ok());
  example.set(1, -kInfinity);
  EXPECT_EQ(example.judged().verdict, Verdict::wrong);
  example.set(1, 3e38);
  EXPECT_EQ(example.report().beyond, 1);
  example.set(1, kInfinity);
  example.set(2, 0);
  EXPECT_EQ(example.report().beyond, 1);
  EXPECT_EQ(example.report().worst_at, 2);
}

TEST(Compare, what_the_dtype_cannot_hold_must_be_infinity) {
  Example example({8}, Dtype::f16);
  example.expect(3, -1e6, 1e6);
  example.set(3, -kInfinity);
  EXPECT_TRUE(example.judged().ok());
  example.set(3, kInfinity);
  EXPECT_EQ(example.judged().verdict, Verdict::nonfinite);
  example.set(3, -65504);
  EXPECT_EQ(example.judged().verdict, Verdict::wrong);
  // At the edge either is honest, but no infinity far below it.
  example.expect(3, 65515, 65515);
  for (double got : {65504.0, kInfinity}) {
    example.set(3, got);
    EXPECT_TRUE(example.judged().ok()) << got;
  }
  example.expect(3, 60000, 60000);
  example.set(3, kInfinity);
  EXPECT_EQ(example.judged().verdict, Verdict::nonfinite);
}

TEST(Compare, an_invalid_scale_accepts_nothing) {
  for (double scale : {kInfinity, kNan, -1.0}) {
    Example example({600});
    example.expect(500, 1, scale);
    example.set(500, 1.5);
    EXPECT_EQ(example.judged().verdict, Verdict::wrong) << scale;
    example.set(500, 1);
    EXPECT_TRUE(example.judged().ok()) << scale;
  }
}

TEST(Compare, an_error_in_an_element_without_terms_is_wrong) {
  Example example({4});
  example.expect(0, 0, 0);
  example.set(0, 1e-20);
  EXPECT_EQ(example.judged().verdict, Verdict::wrong);
  example.set(0, 1e-31);
  EXPECT_TRUE(example.judged().ok());
}

TEST(Compare, a_quiet_loss_of_precision_shows_in_the_rms) {
  Example honest({5000});
  double baseline = honest.report().rms_error();
  EXPECT_TRUE(honest.judged(baseline).ok());
  Example rounded({5000});
  for (std::size_t i = 0; i < 5000; ++i) {
    rounded.set(i, rounded.expected.value[i] + (i % 2 ? 0.5 : -0.5) * rounded.bound(i));
  }
  EXPECT_TRUE(rounded.judged().ok());
  Finding finding = rounded.judged(baseline);
  EXPECT_EQ(finding.verdict, Verdict::imprecise);
  EXPECT_TRUE(finding.evidence.text.contains("times that of the baseline: products or sums"))
      << finding.evidence.text;
  EXPECT_TRUE(honest.judged(0).ok());  // a baseline that is exact asks for no more than rounding
}

TEST(Compare, evidence_of_a_hidden_case_has_no_index_value_or_size) {
  Example example({3, 1237});
  example.of.hidden = true;
  example.of.hidden_class = "prime";
  example.of.axes = {{"rows", 1237}};
  auto check = [&](Verdict verdict) {
    Finding finding = example.judged(1e-30);
    EXPECT_EQ(finding.verdict, verdict);
    const Evidence& evidence = finding.evidence;
    EXPECT_TRUE(evidence.text.contains("prime")) << evidence.text;
    for (const char* secret : {"1237", "3711", "1300", "[", "0.77"}) {
      EXPECT_FALSE(evidence.text.contains(secret)) << evidence.text;
    }
    EXPECT_EQ(evidence.case_name, "hidden (prime)");
    EXPECT_TRUE(evidence.worst.empty());
  };
  for (std::size_t i = 0; i < 3711; ++i) {
    example.set(i, example.expected.value[i] + 0.9 * example.bound(i));
  }
  check(Verdict::imprecise);
  example.set(1300, 0.7777 + example.expected.value[1300]);
  check(Verdict::wrong);
  example.set(1300, kNan);
  check(Verdict::nonfinite);
  for (std::size_t i = 0; i < 3711; ++i) example.unwrite(i);
  check(Verdict::unwritten);
}

TEST(Compare, pieces_merge_to_the_whole) {
  Example example({3000});
  example.set(700, 9);
  example.set(2100, 12);
  for (int trouble = 0; trouble < 3; ++trouble) {
    if (trouble == 1) example.set(2500, kNan);
    if (trouble == 2) example.unwrite(2900);
    OutputReport whole = example.report();
    OutputReport merged;
    for (std::size_t first : {2000U, 0U, 1000U}) {
      Expected piece{.at = {}, .first = static_cast<std::int64_t>(first), .value = {}, .scale = {}};
      for (std::size_t i = first; i < first + 1000; ++i) {
        piece.value.push_back(example.expected.value[i]);
        piece.scale.push_back(example.expected.scale[i]);
      }
      merge(merged, compare(example.tensor, example.got, piece, example.tolerance, kPoison));
    }
    EXPECT_EQ(merged.elements, whole.elements);
    EXPECT_EQ(merged.unwritten, whole.unwritten);
    EXPECT_EQ(merged.nonfinite, whole.nonfinite);
    EXPECT_EQ(merged.beyond, whole.beyond);
    EXPECT_EQ(merged.worst_at, whole.worst_at);
    EXPECT_EQ(merged.worst_ratio, whole.worst_ratio);
    EXPECT_EQ(merged.worst_relative, whole.worst_relative);
    EXPECT_NEAR(merged.error_squares, whole.error_squares, 1e-9 * whole.error_squares);
  }
}

TEST(Compare, samples_are_looked_at_where_they_lie) {
  Example example({10, 100});
  example.set(517, 7);
  Expected samples{.at = {999, 517, 3}, .first = 0, .value = {}, .scale = {1, 1, 1}};
  for (std::int64_t at : samples.at) {
    samples.value.push_back(example.expected.value[static_cast<std::size_t>(at)]);
  }
  OutputReport report = compare(example.tensor, example.got, samples, example.tolerance, kPoison);
  EXPECT_EQ(report.elements, 3);
  EXPECT_EQ(report.beyond, 1);
  EXPECT_EQ(report.worst_at, 517);
  Finding finding = judge_output(example.of, example.tensor, report, example.tolerance, -1);
  EXPECT_TRUE(finding.evidence.text.contains("1 of 3 sampled elements")) << finding.evidence.text;
}

TEST(Compare, a_candidate_may_differ_from_the_baseline_by_two_bounds) {
  Example example({1000});
  std::vector<std::byte> baseline = example.got;
  auto report = [&](Piece piece = {}) {
    return compare_with_baseline(example.tensor, example.got, baseline, 10, example.tolerance,
                                 kPoison, piece);
  };
  example.set(600, example.expected.value[600] + 1.9 * example.bound(600));
  EXPECT_EQ(report().beyond, 0);
  example.set(600, example.expected.value[600] + 2.2 * example.bound(600));
  EXPECT_EQ(report().beyond, 1);
  EXPECT_EQ(report().worst_at, 600);
  example.unwrite(601);
  EXPECT_EQ(report().unwritten, 1);
  EXPECT_EQ(report({.first = 0, .count = 600}).beyond, 0);
  EXPECT_EQ(report({.first = 600, .count = 1}).beyond, 1);
}

}  // namespace
}  // namespace specgen
