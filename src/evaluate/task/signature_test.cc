#include "evaluate/task/signature.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(Signature, has_inputs_outputs_axes_scalars_and_what_the_harness_adds) {
  KernelTask task;
  task.name = "softmax";
  task.inputs = {{.name = "x", .dtype = Dtype::f16, .shape = {}, .data = {}}};
  task.outputs = {{.name = "y", .dtype = Dtype::f32, .shape = {}, .data = {}}};
  task.axes = {{.name = "rows"}, {.name = "cols"}};
  task.scalars = {{.name = "eps"}};
  EXPECT_EQ(cpu_signature(task),
            "extern \"C\" void softmax(const _Float16* x, float* y, int64_t rows, int64_t cols, "
            "double eps, void* scratch, int tid, int nthreads);");
  EXPECT_EQ(cpu_declaration(task),
            "extern \"C\" void softmax(const _Float16*, float*, int64_t, int64_t, double, void*, "
            "int, int);");
}

TEST(Signature, of_dotted_axes_has_identifiers_that_differ_from_tensors) {
  KernelTask task;
  task.name = "add";
  task.inputs = {{.name = "x", .dtype = Dtype::f32, .shape = {}, .data = {}},
                 {.name = "x_0", .dtype = Dtype::i64, .shape = {}, .data = {}}};
  task.outputs = {{.name = "out0", .dtype = Dtype::f32, .shape = {}, .data = {}}};
  task.axes = {{.name = "x.0"}, {.name = "x.n"}};
  EXPECT_EQ(cpu_signature(task),
            "extern \"C\" void add(const float* x, const int64_t* x_0, float* out0, int64_t x_0_, "
            "int64_t x_n, void* scratch, int tid, int nthreads);");
}

TEST(Identifier, is_valid_for_any_text) {
  EXPECT_EQ(identifier_of("conv.weight"), "conv_weight");
  EXPECT_EQ(identifier_of("double"), "double_");
  EXPECT_EQ(identifier_of("scratch"), "scratch_");
  EXPECT_EQ(identifier_of("0"), "_0");
  EXPECT_EQ(identifier_of(""), "name");
  EXPECT_EQ(identifier_of("a);system(\"x\""), "a__system__x_");
  EXPECT_EQ(identifier_of("\xc3\xa9"), "__");
}

TEST(Identifier, is_made_different_from_those_taken) {
  std::vector<std::string> taken;
  EXPECT_EQ(unique_identifier("a.b", taken), "a_b");
  EXPECT_EQ(unique_identifier("a_b", taken), "a_b_");
  EXPECT_EQ(unique_identifier("a-b", taken), "a_b__");
}

}  // namespace
}  // namespace specgen
