#include "runtime/entropy.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(Entropy, two_values_differ) {
  std::array<std::uint64_t, 2> one = system_entropy();
  std::array<std::uint64_t, 2> two = system_entropy();
  EXPECT_NE(one[0], two[0]);
  EXPECT_NE(one[1], two[1]);
  EXPECT_NE(one[0], one[1]);
}

}  // namespace
}  // namespace specgen
