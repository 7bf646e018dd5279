#include "search/task_brief.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

TEST(TaskBrief, describes_tensors_cases_and_exactness_for_its_backend) {
  KernelTask task = load_task(SPECGEN_SOURCE_DIR "/tasks/softmax").value();
  TaskBrief brief = brief_of(task, Backend::cpu, "a core");
  EXPECT_EQ(brief.title, "softmax");
  EXPECT_EQ(brief.hardware, "a core");
  EXPECT_EQ(brief.baseline, task.baseline_cc);
  EXPECT_TRUE(
      says(brief.description, "- input `x`: f32[rows, cols], filled with normal(0, 2) or "));
  EXPECT_TRUE(says(brief.description, "- output `y`: f32[rows, cols]\n"));
  EXPECT_TRUE(says(brief.description, "- rows=64 cols=1000\n"));
  EXPECT_TRUE(says(brief.description, "- rows=256 cols=1024: timed, weight 1\n"));
  EXPECT_FALSE(says(brief.description, "8192")) << "that case is for GPUs";
  EXPECT_TRUE(says(brief.description, "4 hidden cases"));
  EXPECT_TRUE(says(brief.description, "unit roundoff 2^-24"));
  EXPECT_TRUE(
      says(brief.signature, "extern \"C\" void softmax(const float* x, float* y, int64_t rows, "));
}

TEST(TaskBrief, of_a_variant_has_its_types) {
  KernelTask task = load_task(SPECGEN_SOURCE_DIR "/tasks/softmax:f16").value();
  TaskBrief brief = brief_of(task, Backend::cuda, "a GPU");
  EXPECT_EQ(brief.title, "softmax:f16");
  EXPECT_EQ(brief.backend, "cuda");
  EXPECT_EQ(brief.baseline, task.baseline_cu);
  EXPECT_TRUE(says(brief.signature, "- `x`: `const __half*`\n"));
  EXPECT_TRUE(says(brief.signature, "- `rows`: a whole number\n"));
  EXPECT_TRUE(says(brief.description, "rows=8192 cols=2048: timed, weight 1\n"));
  EXPECT_TRUE(says(brief.description, "sums are to be held in f32"));
}

TEST(TaskBrief, of_a_pytorch_file_is_the_file) {
  TaskBrief native = brief_of_python("19_ReLU", "class Model: ...", "cpu", "a core", false);
  EXPECT_TRUE(native.is_pytorch);
  EXPECT_EQ(native.baseline, "class Model: ...");
  EXPECT_TRUE(says(native.signature, "void relu(...)"));
  EXPECT_TRUE(says(brief_of_python("relu", "", "cuda", "a GPU", false).signature, "`x.n`"));
  TaskBrief python = brief_of_python("relu", "class Model: ...", "cuda", "a GPU", true);
  EXPECT_TRUE(python.model_new);
  EXPECT_EQ(python.signature, "");
}

}  // namespace
}  // namespace specgen
