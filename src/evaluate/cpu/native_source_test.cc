#include "evaluate/cpu/native_source.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(ReferenceLimit, grows_with_the_work_up_to_a_maximum) {
  Case small, large, vast;
  small.min_bytes = 12'000;
  large.min_flops = 4e8;
  vast.min_flops = 1e12;
  EXPECT_LE(reference_limit(small), std::chrono::seconds(11));
  EXPECT_GE(reference_limit(large), std::chrono::seconds(30));
  EXPECT_EQ(reference_limit(vast), std::chrono::seconds(120));
}

}  // namespace
}  // namespace specgen
