#include "simulate/virtual_kernel.h"

#include <gtest/gtest.h>

#include "generate/answer/kernel_shape.h"
#include "schedule/normalised_source.h"

namespace specgen {
namespace {

TEST(VirtualKernel, is_a_complete_kernel_and_carries_its_truth) {
  KernelTruth truth{.verdict = Verdict::crash, .speedup = 1.875, .poison = true, .number = 12345};
  std::string source = virtual_kernel(truth);
  EXPECT_TRUE(shape_of(source, "cpu").native);
  auto read = read_truth(source);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->verdict, Verdict::crash);
  EXPECT_EQ(read->speedup, 1.875);
  EXPECT_TRUE(read->poison);
  EXPECT_EQ(read->number, 12345u);
  auto token = read_truth_token(truth_token(truth));
  ASSERT_TRUE(token);
  EXPECT_EQ(token->number, 12345u);
}

TEST(VirtualKernel, keeps_its_truth_without_comments_and_white_space) {
  std::string one = virtual_kernel({.number = 1}), other = virtual_kernel({.number = 2});
  EXPECT_NE(normalised_source(one), normalised_source(other));
  EXPECT_EQ(normalised_source(one), normalised_source("// a draft\n" + one));
}

TEST(VirtualKernel, is_not_read_from_other_texts) {
  EXPECT_FALSE(read_truth("extern \"C\" void kernel() {}"));
  EXPECT_FALSE(read_truth("constexpr long truth[] = {1, 2};"));
  EXPECT_FALSE(read_truth("constexpr long truth[] = {99, 2, 0, 1};"));
  EXPECT_FALSE(read_truth_token("1f0c"));
}

}  // namespace
}  // namespace specgen
