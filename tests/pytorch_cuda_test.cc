// Native CUDA candidates of PyTorch tasks: the module's process and the executor share one GPU.
// Needs a GPU and a Python whose torch sees it.

#include <gtest/gtest.h>
#include <unistd.h>

#include "adversary.h"

namespace specgen {
namespace {

class CudaOnPyTorch : public testing::TestWithParam<Adversary> {};

TEST_P(CudaOnPyTorch, gets_its_verdict) {
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    GTEST_SKIP() << "NOT RUN: there is no GPU on this host";
  }
  const Adversary& adversary = GetParam();
  ASSERT_EQ(adversary.problem, "");
  TestWorld world;
  Judged judged = judge(world, adversary, "cuda:0");
  EXPECT_EQ(judged.verdict(), adversary.verdict) << judged.said;
  expect_well_told(judged);
}

INSTANTIATE_TEST_SUITE_P(Files, CudaOnPyTorch,
                         testing::ValuesIn(adversaries("pytorch/cuda", ".cu")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace specgen
