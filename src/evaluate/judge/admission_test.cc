#include "evaluate/judge/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"

namespace specgen {
namespace {

// A sum of `terms` products for each element, as a checker sees it: one input as long as the output.
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
  // As it would be after a look at an honest baseline.
  Example& with_baseline(double rms) {
    point.baseline_rms = {rms};
    return *this;
  }
  Admission shown() const {
    Admission admission;
    CheatTallies tallies;
    show_variants(point, other, inputs, admission, tallies);
    count_tallies(tallies, admission);
    return admission;
  }
};

std::set<std::string> variants_of(const Admission& admission) {
  std::set<std::string> names;
  for (const AdmissionFault& fault : admission.faults) names.insert(fault.variant);
  return names;
}

TEST(Admission, an_honest_checker_is_admitted) {
  Admission admission = Example(1000).with_baseline(80 * 0x1p-24).shown();
  EXPECT_TRUE(admission.admitted()) << admission.faults.front().variant;
  // zeros, ones, the mean, another input's output, NaN, a copy, another order, half precision
  EXPECT_EQ(admission.checks, 8U);
}

TEST(Admission, a_checker_that_lets_everything_pass_is_told_every_cheat) {
  Admission admission = Example(1000, {.tolerance = 1e9}).shown();
  EXPECT_FALSE(admission.admitted());
  std::set<std::string> cheats = variants_of(admission);
  for (const char* name : {"zeros", "ones", "the mean", "a copy of an input",
                           "the output of another input", "sums in half precision"}) {
    EXPECT_TRUE(cheats.contains(name)) << name;
  }
  EXPECT_FALSE(cheats.contains("NaN")) << "a NaN passes no bound at all";
  EXPECT_EQ(admission.faults.front().text, "is accepted");
  EXPECT_EQ(admission.faults.front().case_name, "n=1000");
}

TEST(Admission, what_large_cases_are_judged_by_must_find_gross_cheats_alone) {
  Admission admission = Example(1000, {.tolerance = 1e9}).with_baseline(80 * 0x1p-24).shown();
  EXPECT_TRUE(variants_of(admission).contains("zeros"));
  EXPECT_FALSE(variants_of(admission).contains("sums in half precision")) << "the RMS finds it";
}

TEST(Admission, half_precision_is_the_first_thing_that_a_loose_tolerance_lets_through) {
  Admission admission = Example(1000, {.tolerance = 3000}).shown();
  EXPECT_EQ(variants_of(admission), std::set<std::string>{"sums in half precision"});
}

TEST(Admission, a_checker_that_refuses_another_order_of_sums_is_told) {
  Admission admission = Example(1000, {.tolerance = 1e-3}).with_baseline(80 * 0x1p-20).shown();
  ASSERT_TRUE(variants_of(admission).contains("sums in another order"));
  EXPECT_TRUE(admission.faults.back().text.starts_with("is refused")) << admission.faults[0].text;
}

TEST(Admission, what_is_right_by_accident_is_no_cheat) {
  Example example(1000);
  std::ranges::fill(example.point.expected[0].value, 1);
  example.other = example.point;
  std::set<std::string> cheats = variants_of(example.shown());
  EXPECT_FALSE(cheats.contains("ones"));
  EXPECT_FALSE(cheats.contains("the mean"));
  EXPECT_FALSE(cheats.contains("the output of another input"));
}

TEST(Admission, on_a_few_elements_a_cheat_counts_only_if_it_passes_everywhere) {
  Example few(3);
  few.point.expected[0].value = {1e-9, 0, -1e-9};  // zeros are right, as far as anybody can tell
  few.point.tolerances = {tolerance_of({.tolerance = 8}, few.point.at, Dtype::f32)};
  EXPECT_TRUE(variants_of(few.shown()).contains("zeros"));

  Example many(1000);
  Admission both;
  CheatTallies tallies;
  show_variants(few.point, few.other, few.inputs, both, tallies);
  show_variants(many.point, many.other, many.inputs, both, tallies);
  count_tallies(tallies, both);
  EXPECT_FALSE(variants_of(both).contains("zeros"));
}

TEST(Admission, samples_are_not_shown_to_the_checker) {
  Example example(1000);
  example.point.expected[0].at = {0, 999};
  EXPECT_EQ(example.shown().checks, 0U);
}

TEST(Admission, integers_are_never_noisy) {
  Example example(1000, {}, Dtype::i32);
  for (CheckPoint* each : {&example.point, &example.other}) {
    for (double& value : each->expected[0].value) value = std::round(value);
  }
  Admission admission = example.shown();
  EXPECT_TRUE(admission.admitted());
  EXPECT_EQ(admission.checks, 5U) << "zeros, ones, the mean, another's output, a copy";
}

}  // namespace
}  // namespace specgen
