#include "evaluate/cuda/gpu_watch.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(GpuWatch, small_steps_of_the_clock_are_the_same_pace_and_large_ones_are_not) {
  EXPECT_TRUE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1980}));
  EXPECT_TRUE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1905}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1755}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1755}, {.sm_mhz = 1980}));
}

TEST(GpuWatch, what_is_held_back_is_no_pace_to_compare_at) {
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980, .is_held_back = true}, {.sm_mhz = 1980}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1980, .is_held_back = true}));
}

TEST(GpuWatch, without_nvml_nothing_is_known_and_no_fault_is_found) {
  EXPECT_TRUE(is_same_pace({}, {.sm_mhz = 1980}));
  GpuWatch nobody = GpuWatch::open("no such bus");
  EXPECT_FALSE(nobody.is_open());
  EXPECT_EQ(nobody.look().sm_mhz, 0U);
  EXPECT_FALSE(nobody.look().is_held_back);
}

}  // namespace
}  // namespace specgen
