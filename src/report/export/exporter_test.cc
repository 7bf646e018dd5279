#include "report/export/exporter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "report/export/export_parts.h"

namespace specgen {
namespace {

Expression expression(std::string_view text) {
  return Expression::parse(text).value();
}

KernelTask small_task() {
  KernelTask task;
  task.name = "scale";
  task.variant = "f16";
  task.summary = "y = a * x";
  task.element = Dtype::f16;
  task.elements = {Dtype::f16};
  task.axes = {{.name = "rows"}, {.name = "int"}};
  task.inputs = {{.name = "x",
                  .dtype = Dtype::f16,
                  .shape = {expression("rows"), expression("2 * int")},
                  .data = {{.kind = Distribution::Kind::uniform, .a = -1, .b = 1}}}};
  task.outputs = {{.name = "y",
                   .dtype = Dtype::f32,
                   .shape = {expression("rows"), expression("2 * int")},
                   .data = {}}};
  task.scalars = {{.name = "a", .value = 2.5}};
  task.cases = {
      {.axes = {{"rows", 4}, {"int", 6}}, .weight = 1, .backends = {Backend::cpu, Backend::cuda}}};
  task.bytes = expression("rows");
  task.flops = expression("rows");
  task.baseline_cc = "// nothing\n";
  task.baseline_cu = "// specgen:launch scale<<<1, 1>>>(x, y)\n";
  task.reference_source = "// the reference\n";
  return task;
}

const ExportedFile& file_named(const std::vector<ExportedFile>& files, std::string_view name) {
  auto found = std::ranges::find(files, name, &ExportedFile::name);
  EXPECT_NE(found, files.end()) << name;
  return *found;
}

constexpr const char* kCudaSource = R"(// specgen:tune BLOCK = 128, 256
// specgen:scratch partial f32[rows, ceildiv(int, BLOCK)]
// specgen:zero partial
// specgen:zero y
// specgen:tensormap tile = tiled(x, box(64, 32), swizzle 64)
// specgen:launch first<BLOCK, float><<<(ceildiv(int, BLOCK), rows), BLOCK>>>(x + 2 * int, partial, rows, 1.5)
// specgen:launch scale<<<rows, 32, 4 * BLOCK, cluster=(2, 1, 1), cooperative>>>(tile, partial, y, int + 1, a)
)";

TEST(TaskText, expressions_become_c_with_tunables_as_numbers) {
  KernelTask task = small_task();
  TaskText text(task, {{"BLOCK", 256}});
  EXPECT_EQ(text.c_expression(expression("4*BLOCK + ceildiv(rows, 32) % 7 - min(int, sizeof_T)")),
            "INT64_C(4)*INT64_C(256) + sg_ceildiv(rows, INT64_C(32)) % INT64_C(7) - sg_min(int_, "
            "INT64_C(2))");
  EXPECT_EQ(text.python_expression(expression("rows / 2 + max(BLOCK, 1)")),
            "rows // 2 + max(256, 1)");
  EXPECT_EQ(text.elements({expression("rows"), expression("int + 1")}),
            "(rows) * (int_ + INT64_C(1))");
  EXPECT_EQ(text.elements({}), "INT64_C(1)");
}

TEST(TaskText, parameters_are_those_of_c) {
  KernelTask task = small_task();
  TaskText text(task, {});
  EXPECT_EQ(text.parameters(), "const uint16_t* x, float* y, int64_t rows, int64_t int_, double a");
  EXPECT_EQ(text.reference_parameters(),
            "const double* x, double* y, double* y_scale, int64_t rows, int64_t int_, double a");
}

TEST(Exporter, the_kernel_is_unchanged_after_its_definitions) {
  std::string source = "// specgen:tune BLOCK = 8, 16\nint kernel_text;\n";
  auto files = export_kernel({.task = small_task(), .source = source, .tunables = {{"BLOCK", 16}}},
                             ExportForm::cpp);
  ASSERT_TRUE(files) << files.error().text();
  const std::string& kernel = file_named(*files, "scale_kernel.cc").text;
  EXPECT_TRUE(kernel.ends_with(source));
  EXPECT_TRUE(kernel.contains("#define BLOCK 16\n"));
  EXPECT_TRUE(kernel.contains("#define SPECGEN_DTYPE _Float16\n"));
  EXPECT_TRUE(file_named(*files, "Makefile").text.contains("_Float16 x;"))
      << "GCC 12 has no _Float16 in C++";
}

TEST(Exporter, a_cuda_launcher_follows_the_specgen_lines) {
  auto files = export_kernel({.task = small_task(),
                              .backend = Backend::cuda,
                              .source = kCudaSource,
                              .tunables = {{"BLOCK", 256}}},
                             ExportForm::cuda);
  ASSERT_TRUE(files) << files.error().text();
  std::string launcher = file_named(*files, "scale.cu").text;
  for (const char* part :
       {"return rounded((rows) * (sg_ceildiv(int_, INT64_C(256))) * 4);",
        "cudaMemsetAsync(y, 0, static_cast<size_t>((rows) * (INT64_C(2) * int_) * 4), stream)",
        "cudaMemsetAsync(scratch_partial, 0,",
        "tiled(map_tile, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, x, {INT64_C(2) * int_, rows}, "
        "{INT64_C(32), INT64_C(64)}, "
        "CU_TENSOR_MAP_SWIZZLE_64B)",
        "launch(first<256, float>, Extent{sg_ceildiv(int_, INT64_C(256)), rows, INT64_C(1)}, ",
        "offset(x, (INT64_C(2) * int_) * 2), offset(scratch_partial, 0), rows, double(1.5))",
        "INT64_C(4) * INT64_C(256), Extent{INT64_C(2), INT64_C(1), INT64_C(1)}, true, stream, "
        "map_tile,",
        "int_ + INT64_C(1), a)"}) {
    EXPECT_TRUE(launcher.contains(part)) << part << "\nin\n" << launcher;
  }
  EXPECT_EQ(file_named(*files, "scale_kernel.cu").text, kCudaSource);
  EXPECT_TRUE(file_named(*files, "Makefile").text.contains("-lcuda"));
}

TEST(Exporter, a_torch_module_derives_axes_from_shapes_and_takes_the_rest_as_arguments) {
  auto files = export_kernel({.task = small_task(), .source = "int x;\n"}, ExportForm::torch);
  ASSERT_TRUE(files) << files.error().text();
  const std::string& module = file_named(*files, "scale.py").text;
  EXPECT_TRUE(module.contains("def scale(x, *, int_, a=2.5, threads=1):")) << module;
  EXPECT_TRUE(module.contains("rows = x.shape[0]"));
  EXPECT_TRUE(module.contains("_checked(\"x\", x, torch.float16, (rows, 2 * int_))")) << module;
}

TEST(Exporter, a_form_of_another_backend_is_refused) {
  EXPECT_EQ(
      export_kernel({.task = small_task(), .source = "int x;\n"}, ExportForm::cuda).error().code,
      ErrorCode::bad_usage);
  EXPECT_EQ(parse_export_form("troch").error().context,
            "--as: unknown form 'troch'; did you mean 'torch'?");
}

TEST(Exporter, tunables_that_the_source_does_not_have_are_an_error) {
  auto files = export_kernel(
      {.task = small_task(), .source = "int x;\n", .tunables = {{"BLOCK", 3}}}, ExportForm::cpp);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::artifact_damaged);
}

}  // namespace
}  // namespace specgen
