#include "evaluate/judge/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"

namespace specgen {
namespace {

// A case as a checker sees it: sums of 100 terms, one input as long as the output.
struct Example {
  CheckPoint point, other;
  std::vector<std::vector<std::byte>> inputs;

  explicit Example(std::int64_t elements, CheckPolicy policy = {}, Dtype dtype = Dtype::f32) {
    Tensor tensor{"y", dtype, {elements}, elements};
    for (CheckPoint* each : {&point, &other}) {
      each->at.axes = {{"n", elements}};
      each->at.axis_order = {"n"};
      each->at.reduction = 100;
      each->at.inputs = {{"x", dtype, {elements}, elements}};
      each->at.outputs = {tensor};
      each->tolerances = {tolerance_of(policy, each->at, dtype)};
      each->expected = {drawn(elements, each == &point ? 1 : 2)};
    }
    inputs.emplace_back(tensor.bytes());
    from_doubles(dtype, drawn(elements, 3).value, inputs[0]);
  }
  static Expected drawn(std::int64_t elements, std::uint64_t seed) {
    Random random(seed);
    Expected expected;
    for (std::int64_t i = 0; i < elements; ++i) {
      expected.value.push_back(random.uniform(-20, 20));
      expected.scale.push_back(80);
    }
    return expected;
  }
  // As if a correct baseline with this error had been checked.
  Example& with_baseline(double rms) {
    point.baseline_rms = {rms};
    return *this;
  }
  Admission tried() const {
    Admission admission;
    CheatTallies tallies;
    try_variants(point, other, inputs, admission, tallies);
    count_tallies(tallies, admission);
    return admission;
  }
};

std::set<std::string> variants_of(const Admission& admission) {
  std::set<std::string> names;
  for (const AdmissionFault& fault : admission.faults) names.insert(fault.variant);
  return names;
}

TEST(Admission, a_correct_checker_is_admitted) {
  Admission admission = Example(1000).with_baseline(80 * 0x1p-24).tried();
  EXPECT_TRUE(admission.admitted()) << admission.faults.front().variant;
  // zeros, ones, the mean, another input's output, NaN, a copy, another order, half precision
  EXPECT_EQ(admission.checks, 8U);
}

TEST(Admission, a_checker_that_accepts_everything_is_refused_for_every_cheat) {
  Admission admission = Example(1000, {.tolerance = 1e9}).tried();
  EXPECT_FALSE(admission.admitted());
  std::set<std::string> cheats = variants_of(admission);
  for (const char* name : {"zeros", "ones", "the mean", "a copy of an input",
                           "the output of another input", "sums in half precision"}) {
    EXPECT_TRUE(cheats.contains(name)) << name;
  }
  EXPECT_FALSE(cheats.contains("NaN")) << "a NaN passes no bound";
  EXPECT_EQ(admission.faults.front().text, "is accepted");
  EXPECT_EQ(admission.faults.front().case_name, "n=1000");
}

TEST(Admission, the_bound_alone_must_refuse_gross_cheats) {
  Admission admission = Example(1000, {.tolerance = 1e9}).with_baseline(80 * 0x1p-24).tried();
  EXPECT_TRUE(variants_of(admission).contains("zeros"));
  EXPECT_FALSE(variants_of(admission).contains("sums in half precision"))
      << "the RMS error refuses it";
}

TEST(Admission, a_loose_tolerance_accepts_half_precision_first) {
  Admission admission = Example(1000, {.tolerance = 3000}).tried();
  EXPECT_EQ(variants_of(admission), std::set<std::string>{"sums in half precision"});
}

TEST(Admission, a_checker_that_refuses_another_order_of_sums_is_refused) {
  Admission admission = Example(1000, {.tolerance = 1e-3}).with_baseline(80 * 0x1p-20).tried();
  ASSERT_TRUE(variants_of(admission).contains("sums in another order"));
  EXPECT_TRUE(admission.faults.back().text.starts_with("is refused")) << admission.faults[0].text;
}

TEST(Admission, a_cheat_that_is_correct_by_accident_does_not_count) {
  Example example(1000);
  std::ranges::fill(example.point.expected[0].value, 1);
  example.other = example.point;
  std::set<std::string> cheats = variants_of(example.tried());
  EXPECT_FALSE(cheats.contains("ones"));
  EXPECT_FALSE(cheats.contains("the mean"));
  EXPECT_FALSE(cheats.contains("the output of another input"));
}

TEST(Admission, on_a_few_elements_a_cheat_counts_only_if_it_passes_everywhere) {
  Example few(3);
  few.point.expected[0].value = {1e-9, 0, -1e-9};  // zeros are within the tolerance
  few.point.tolerances = {tolerance_of({.tolerance = 8}, few.point.at, Dtype::f32)};
  EXPECT_TRUE(variants_of(few.tried()).contains("zeros"));

  Example many(1000);
  Admission both;
  CheatTallies tallies;
  try_variants(few.point, few.other, few.inputs, both, tallies);
  try_variants(many.point, many.other, many.inputs, both, tallies);
  count_tallies(tallies, both);
  EXPECT_FALSE(variants_of(both).contains("zeros"));
}

TEST(Admission, sampled_outputs_are_skipped) {
  Example example(1000);
  example.point.expected[0].at = {0, 999};
  EXPECT_EQ(example.tried().checks, 0U);
}

TEST(Admission, integers_get_no_noise) {
  Example example(1000, {}, Dtype::i32);
  for (CheckPoint* each : {&example.point, &example.other}) {
    for (double& value : each->expected[0].value) value = std::round(value);
  }
  Admission admission = example.tried();
  EXPECT_TRUE(admission.admitted());
  EXPECT_EQ(admission.checks, 5U) << "zeros, ones, the mean, another's output, a copy";
}

}  // namespace
}  // namespace specgen
