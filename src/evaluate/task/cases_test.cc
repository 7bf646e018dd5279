#include "evaluate/task/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace specgen {
namespace {

const Secret kSecret{{1, 2}};

Expression parsed(std::string_view text) {
  return Expression::parse(text).value();
}

KernelTask matrix_task() {
  KernelTask task;
  task.name = "scale";
  task.elements = {Dtype::f32};
  task.axes = {{.name = "rows", .low = 1, .high = 300, .multiple = 1},
               {.name = "cols", .low = 10, .high = 3000, .multiple = 1}};
  Distribution normal;
  task.inputs = {{"x", Dtype::f32, {parsed("rows"), parsed("cols")}, {normal}}};
  task.outputs = {{"y", Dtype::f16, {parsed("rows"), parsed("cols + 1")}, {}}};
  task.bytes = parsed("rows * cols * sizeof_T");
  task.flops = parsed("rows");
  task.check.reduction = parsed("cols");
  return task;
}

std::string mistake(const KernelTask& task, Values axes) {
  auto made = make_case(task, std::move(axes));
  if (made) return "none";
  EXPECT_EQ(made.error().code, ErrorCode::bad_task);
  return made.error().context;
}

bool is_prime(std::int64_t number) {
  for (std::int64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return number > 1;
}

std::int64_t elements_of(const Case& of) {
  std::int64_t all = 0;
  for (const Tensor& tensor : of.inputs) all += tensor.elements;
  for (const Tensor& tensor : of.outputs) all += tensor.elements;
  return all;
}

TEST(Cases, numbers_take_the_place_of_expressions) {
  auto made = make_case(matrix_task(), {{"rows", 64}, {"cols", 1000}});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->title(), "rows=64 cols=1000");
  EXPECT_EQ(made->inputs[0].shape, (std::vector<std::int64_t>{64, 1000}));
  EXPECT_EQ(made->outputs[0].elements, 64 * 1001);
  EXPECT_EQ(made->min_bytes, 64 * 1000 * 4);
  EXPECT_EQ(made->reduction, 1000);
  EXPECT_EQ(made->footprint(), Bytes{64 * 1000 * 4 + 64 * 1001 * 2});
}

TEST(Cases, a_tensor_without_dimensions_has_one_element) {
  KernelTask task = matrix_task();
  task.outputs[0].shape.clear();
  EXPECT_EQ(make_case(task, {{"rows", 1}, {"cols", 1}})->outputs[0].elements, 1);
}

TEST(Cases, what_cannot_be_is_refused) {
  KernelTask task = matrix_task();
  EXPECT_EQ(mistake(task, {{"rows", 1}, {"cosl", 1}}),
            "scale: 'cosl' is not an axis; did you mean 'cols'?");
  EXPECT_EQ(mistake(task, {{"rows", 1}}), "scale: axis cols has no length");
  EXPECT_EQ(mistake(task, {{"rows", -1}, {"cols", 1}}),
            "scale: axis rows = -1 is not within 1 and 2^40");
  std::int64_t longest = std::int64_t{1} << 40;
  EXPECT_EQ(mistake(task, {{"rows", longest + 1}, {"cols", 1}}),
            "scale: axis rows = 1099511627777 is not within 1 and 2^40");
  EXPECT_EQ(mistake(task, {{"rows", longest}, {"cols", longest}}), "scale: x has more than 64 GiB");
  EXPECT_EQ(mistake(task, {{"rows", 1 << 17}, {"cols", (1 << 17) + 1}}),
            "scale: x has more than 64 GiB");
  EXPECT_EQ(mistake(task, {{"rows", 1 << 17}, {"cols", 1 << 17}}), "none");
  task.flops = parsed("rows * rows * rows");
  EXPECT_EQ(mistake(task, {{"rows", 1 << 30}, {"cols", 1}}),
            "scale: 'rows * rows * rows': the result is too large");
  task.axes[1].multiple = 8;
  EXPECT_EQ(mistake(task, {{"rows", 1}, {"cols", 12}}),
            "scale: axis cols = 12 is not a multiple of 8");
}

TEST(Cases, public_cases_come_for_their_backend_with_every_data) {
  KernelTask task = matrix_task();
  task.inputs[0].data.resize(2);
  task.cases = {{{{"rows", 4}, {"cols", 5}}, 2.0, {Backend::cpu}},
                {{{"rows", 6}, {"cols", 7}}, 0, {Backend::cuda}}};
  auto cases = public_cases(task, Backend::cpu);
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 2U);
  EXPECT_EQ((*cases)[0].title(), "rows=4 cols=5");
  EXPECT_EQ((*cases)[0].weight, 2);
  EXPECT_EQ((*cases)[1].title(), "rows=4 cols=5 data=2");
  EXPECT_EQ((*cases)[1].draw, 1U);
  EXPECT_EQ((*cases)[1].weight, 0);
}

TEST(HiddenCases, keep_to_their_class_and_range) {
  KernelTask task = matrix_task();
  task.hidden_cases = 64;
  auto cases = hidden_cases(task, kSecret);
  ASSERT_TRUE(cases) << cases.error().text();
  ASSERT_EQ(cases->size(), 64U);
  std::set<std::string> which_is_one;
  for (std::size_t i = 0; i < 64; ++i) {
    const Case& each = (*cases)[i];
    std::int64_t rows = each.axes.at("rows"), cols = each.axes.at("cols");
    EXPECT_TRUE(rows >= 1 && rows <= 300 && cols >= 10 && cols <= 3000);
    EXPECT_TRUE(each.hidden);
    EXPECT_EQ(each.weight, 0);
    const char* expected = std::array{"odd", "prime", "one", "any"}[i % 4];
    EXPECT_EQ(each.hidden_class, expected);
    if (i % 4 == 0) EXPECT_TRUE(rows % 2 == 1 && cols % 2 == 1);
    if (i % 4 == 1) EXPECT_TRUE(is_prime(rows) && is_prime(cols)) << rows << " " << cols;
    if (i % 4 == 2) EXPECT_TRUE(rows == 1 || cols == 10);
    if (i % 4 == 2) which_is_one.insert(rows == 1 ? "rows" : "cols");
    EXPECT_EQ(each.title(), std::string("hidden (") + expected + ")");
  }
  EXPECT_EQ(which_is_one.size(), 2U);
}

TEST(HiddenCases, follow_from_the_secret_alone) {
  KernelTask task = matrix_task();
  auto axes = [&](const Secret& secret) {
    std::vector<Values> all;
    for (const Case& each : hidden_cases(task, secret).value()) all.push_back(each.axes);
    return all;
  };
  EXPECT_EQ(axes(kSecret), axes(kSecret));
  EXPECT_NE(axes(kSecret), axes({{1, 3}}));
}

TEST(HiddenCases, respect_multiples) {
  KernelTask task = matrix_task();
  task.axes[1].multiple = 64;
  task.hidden_cases = 16;
  for (const Case& each : hidden_cases(task, kSecret).value()) {
    std::int64_t cols = each.axes.at("cols");
    EXPECT_EQ(cols % 64, 0);
    EXPECT_GE(cols, 64);
    if (each.hidden_class == "odd") EXPECT_EQ(cols / 64 % 2, 1);
  }
}

TEST(HiddenCases, are_shrunk_to_what_is_allowed) {
  KernelTask task = matrix_task();
  task.axes[0].high = task.axes[1].high = std::int64_t{1} << 40;
  task.hidden_elements = 5000;
  task.hidden_cases = 32;
  auto cases = hidden_cases(task, kSecret);
  ASSERT_TRUE(cases) << cases.error().text();
  for (const Case& each : *cases) {
    EXPECT_LE(elements_of(each), 5000);
    std::int64_t rows = each.axes.at("rows"), cols = each.axes.at("cols");
    if (each.hidden_class == "odd") EXPECT_TRUE(rows % 2 == 1 && cols % 2 == 1);
    if (each.hidden_class == "prime") EXPECT_TRUE(is_prime(rows) && is_prime(cols));
  }
  task.hidden_elements = 20;  // the smallest has 10 + 11
  auto impossible = hidden_cases(task, kSecret);
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().code, ErrorCode::bad_task);
  task.hidden_elements = 21;
  EXPECT_EQ(hidden_cases(task, kSecret)->front().axes, (Values{{"rows", 1}, {"cols", 10}}));
}

TEST(HiddenCases, a_range_without_odd_or_prime_lengths_gives_what_it_has) {
  KernelTask task = matrix_task();
  task.axes[0].low = task.axes[0].high = 24;
  for (const Case& each : hidden_cases(task, kSecret).value()) {
    EXPECT_EQ(each.axes.at("rows"), 24);
  }
}

TEST(Secret, what_is_derived_depends_on_everything) {
  std::set<std::uint64_t> all;
  for (Secret secret : {Secret{{1, 2}}, Secret{{2, 1}}}) {
    for (const char* purpose : {"inputs", "poison", ""}) {
      for (std::uint64_t number : {0U, 1U, 2U}) all.insert(secret.derive(purpose, number));
    }
  }
  EXPECT_EQ(all.size(), 18U);
  EXPECT_EQ(kSecret.derive("inputs", 1), kSecret.derive("inputs", 1));
  EXPECT_NE(fresh_secret().words, fresh_secret().words);
}

}  // namespace
}  // namespace specgen
