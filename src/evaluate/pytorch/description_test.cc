#include "evaluate/pytorch/description.h"

#include <gtest/gtest.h>

#include "evaluate/pytorch/python_task.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace {

constexpr std::string_view kLinear = R"({
  "torch": "2.1.0+cpu", "deterministic": true, "double": true,
  "arguments": [{"name": "x", "dtype": "f32", "shape": [32, 256]}, {"name": "scale", "value": 2.5},
                {"name": "mask", "value": null}],
  "parameters": [{"name": "layer.weight", "dtype": "f32", "shape": [128, 256]},
                 {"name": "layer.bias", "dtype": "f32", "shape": [128]}],
  "outputs": [{"name": "out0", "dtype": "f32", "shape": [32, 128]}]})";

std::string with(std::string_view arguments, std::string_view outputs) {
  return R"({"parameters": [], "arguments": )" + std::string(arguments) + R"(, "outputs": )" +
         std::string(outputs) + "}";
}
constexpr std::string_view kX = R"([{"name": "x", "dtype": "f32", "shape": [2]}])";

TEST(EntryName, is_the_file_name_as_an_identifier_without_its_number) {
  EXPECT_EQ(entry_name("level1/19_ReLU.py"), "relu");
  EXPECT_EQ(entry_name("1_Square_matrix_multiplication_.py"), "square_matrix_multiplication");
  EXPECT_EQ(entry_name("my-module.v2.py"), "my_module_v2");
  EXPECT_EQ(entry_name("42.py"), "task");
}

TEST(EntryName, never_clashes_with_the_language_or_its_library) {
  EXPECT_EQ(entry_name("22_Tanh.py"), "tanh_task");
  EXPECT_EQ(entry_name("Main.py"), "main_task");
  EXPECT_EQ(entry_name("switch.py"), "switch_");
}

TEST(Description, names_tensors_after_arguments_and_dotted_parameters) {
  auto description = parse_description(kLinear);
  ASSERT_TRUE(description) << description.error().text();
  ASSERT_EQ(description->inputs.size(), 1U);
  EXPECT_EQ(description->inputs[0].elements, 32 * 256);
  EXPECT_EQ(description->parameters[0].name, "layer_weight");
  EXPECT_EQ(description->parameter_names[0], "layer.weight");
  ASSERT_EQ(description->arguments.size(), 3U);
  EXPECT_EQ(description->arguments[1].number, 2.5);
  EXPECT_EQ(description->arguments[2].value_json, "null");
  EXPECT_FALSE(description->arguments[2].number);
}

TEST(Description, becomes_a_task_of_one_fixed_shape) {
  KernelTask task = kernel_task_of(parse_description(kLinear).value(), "level2/7_Gemm.py");
  EXPECT_TRUE(task.fixed_shape);
  EXPECT_EQ(task.hidden_cases, 0);
  EXPECT_EQ(task.level, 2);
  ASSERT_EQ(task.cases.size(), 1U);
  EXPECT_EQ(task.cases[0].axes, (Values{{"x.0", 32}, {"x.1", 256}, {"x.n", 8192}}));
  EXPECT_EQ(cpu_signature(task),
            "extern \"C\" void gemm(const float* x, const float* layer_weight, const float* "
            "layer_bias, float* out0, int64_t x_0, int64_t x_1, int64_t x_n, double scale, void* "
            "scratch, int tid, int nthreads);");
}

TEST(Description, of_hostile_names_has_identifiers_that_differ) {
  auto description = parse_description(with(
      R"([{"name": "a.b", "dtype": "f32", "shape": []}, {"name": "a b", "dtype": "f32", "shape": [1]},
               {"name": "out0", "dtype": "u8", "shape": [1]}])",
      R"([{"name": "out0", "dtype": "f32", "shape": [1]}])"));
  ASSERT_TRUE(description) << description.error().text();
  EXPECT_EQ(description->inputs[0].name, "a_b");
  EXPECT_EQ(description->inputs[1].name, "a_b_");
  EXPECT_EQ(description->outputs[0].name, "out0_");
}

TEST(Description, that_is_malformed_is_an_error) {
  for (std::string text :
       {std::string("[]"), std::string("{}"), std::string("{"), with("3", kX),
        with(R"([{"name": "x", "dtype": "c64", "shape": [1]}])", kX),
        with(R"([{"name": "x", "dtype": "f32"}])", kX),
        with(R"([{"name": "x", "dtype": "f32", "shape": [-1]}])", kX),
        with(R"([{"name": "x", "dtype": "f32", "shape": [1.5]}])", kX),
        with(R"([{"name": "x", "dtype": "f32", "shape": [18446744073709551615]}])", kX),
        with(R"([{"name": "", "dtype": "f32", "shape": [1]}])", kX),
        with(R"([{"name": "x", "value": "rm -rf"}])", kX), with(R"([7])", kX),
        with(R"([{"name": ")" + std::string(300, 'x') + R"(", "dtype": "f32", "shape": [1]}])",
             kX)}) {
    auto description = parse_description(text);
    ASSERT_FALSE(description) << text;
    EXPECT_TRUE(description.error().code == ErrorCode::bad_message ||
                description.error().code == ErrorCode::bad_json)
        << text;
  }
}

TEST(Description, of_a_size_that_cannot_be_judged_is_the_tasks_fault) {
  for (std::string text :
       {with("[]", kX), with(kX, "[]"),
        with(R"([{"name": "x", "dtype": "f32", "shape": [0]}])", kX),
        with(R"([{"name": "x", "dtype": "f32", "shape": [4294967296, 4294967296]}])", kX)}) {
    auto description = parse_description(text);
    ASSERT_FALSE(description) << text;
    EXPECT_EQ(description.error().code, ErrorCode::bad_task) << text;
  }
}

TEST(Scales, are_never_below_the_rms_and_have_no_absolute_floor) {
  auto scales = [](std::vector<double> values) { return scales_of(values, rms_of(values)); };
  std::vector<double> tiny = scales({1e-30, -2e-30, 0});
  EXPECT_GT(tiny[2], 1e-30);
  EXPECT_LT(tiny[2], 2e-30);
  EXPECT_EQ(tiny[1], 2e-30);
  EXPECT_EQ(scales({0, 0}), (std::vector<double>{0, 0}));
  EXPECT_EQ(scales({3, std::numeric_limits<double>::infinity()})[1], 3);
}

}  // namespace
}  // namespace specgen
