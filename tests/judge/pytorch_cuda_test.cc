// Candidates of PyTorch tasks on a GPU. Native ones: the module's process and the executor share it. Modules: with
// Triton, with inline CUDA. Needs a GPU and a Python whose torch sees it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "support/adversary.h"

namespace specgen {
namespace {

class CudaOnPyTorch : public testing::TestWithParam<Adversary> {};

TEST_P(CudaOnPyTorch, gets_its_verdict) {
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    GTEST_SKIP() << "NOT RUN: there is no GPU on this host";
  }
  const Adversary& adversary = GetParam();
  ASSERT_EQ(adversary.problem, "");
  ToolFixture fixture;
  Judged judged = judge(fixture, adversary, "cuda:0");
  expect_allowed(judged, adversary);
  expect_well_formed(judged);
}

std::string name_of(const testing::TestParamInfo<Adversary>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Native, CudaOnPyTorch,
                         testing::ValuesIn(adversaries("pytorch/cuda", ".cu")), name_of);
INSTANTIATE_TEST_SUITE_P(Modules, CudaOnPyTorch,
                         testing::ValuesIn(adversaries("pytorch/cuda", ".py")), name_of);

TEST(VendorRatio, is_reported_where_torch_is_installed) {
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    GTEST_SKIP() << "NOT RUN: there is no GPU on this host";
  }
  ToolFixture fixture;
  Adversary baseline{
      .file = std::filesystem::path(SPECGEN_SOURCE_DIR) / "tasks/softmax/baseline.cu",
      .task = "tasks/softmax"};
  Judged judged = judge(fixture, baseline, "cuda:0");
  ASSERT_EQ(judged.verdict(), "ok") << judged.output;
  EXPECT_GT(number_at(judged.evaluation, "vendor_ratio"), 0) << judged.output;
}

// The second time its library is found, and no compiler runs.
TEST(InlineCuda, is_compiled_once) {
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    GTEST_SKIP() << "NOT RUN: there is no GPU on this host";
  }
  std::vector<Adversary> all = adversaries("pytorch/cuda", ".py");
  auto inline_cuda = std::ranges::find(all, "relu_inline", &Adversary::name);
  ASSERT_NE(inline_cuda, all.end());
  ToolFixture fixture;
  for (auto [when, max_ms] : {std::pair{"first", 52'000}, std::pair{"again", 10'000}}) {
    Judged judged = judge(fixture, *inline_cuda, "cuda:0");
    ASSERT_EQ(judged.verdict(), "ok") << judged.output;
    const double load_ms = number_at(judged.evaluation.at("timings_ms"), "compile");
    std::cout << when << ": the module is loaded in " << load_ms << " ms\n";
    EXPECT_LT(load_ms, max_ms) << "torch's own load_inline takes 52 s";
  }
}

}  // namespace
}  // namespace specgen
