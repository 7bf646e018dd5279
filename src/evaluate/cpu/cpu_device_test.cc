#include "evaluate/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <numeric>

namespace specgen {
namespace {

using Cores = std::vector<int>;

Cores cores(std::string_view id, const Cores& allowed) {
  return cores_of_device(id, allowed).value_or(Cores{-1});
}

TEST(CpuDevice, cpu_0_is_every_core_except_the_judges) {
  EXPECT_EQ(cores("cpu:0", {0, 1, 2, 3}), (Cores{1, 2, 3}));
  EXPECT_EQ(cores("cpu:0", {4, 6}), (Cores{6}));
}

TEST(CpuDevice, shares_a_single_core_with_the_judge) {
  EXPECT_EQ(cores("cpu:0", {3}), (Cores{3}));
}

TEST(CpuDevice, takes_a_range_of_cores) {
  EXPECT_EQ(cores("cpu:2-3", {0, 1, 2, 3}), (Cores{2, 3}));
  EXPECT_EQ(cores("cpu:1-1", {0, 1}), (Cores{1}));
  EXPECT_EQ(cores("cpu:0-1", {0, 1}), (Cores{0, 1}));
}

TEST(CpuDevice, has_at_most_sixty_four_threads) {
  Cores many(200);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(cores("cpu:0", many).size(), 64U);
  EXPECT_EQ(cores("cpu:0-63", many).size(), 64U);
  EXPECT_FALSE(cores_of_device("cpu:0-64", many).has_value());
}

TEST(CpuDevice, reports_cores_that_it_may_not_use) {
  for (std::string_view id :
       {"cpu:1", "cpu:9-9", "cpu:0-9", "cpu:1-0", "cpu:", "cpu", "", "cpu:a-b", "cpu:0-", "cpu:-1",
        "cpu:-1-1", "cpu:0-1x", "cpu: 0-1", "cpu:0-1-2", "cpu:00", "cpu:0-99999999999999999999",
        "cpu:0-2147483647", "cpu:2147483647-2147483647"}) {
    auto found = cores_of_device(id, {0, 1});
    ASSERT_FALSE(found.has_value()) << id;
    EXPECT_EQ(found.error().code, ErrorCode::device_missing);
    EXPECT_EQ(found.error().exit_code(), ExitCode::environment);
  }
}

}  // namespace
}  // namespace specgen
