#include "evaluate/cuda/gpu_watch.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(GpuWatch, treats_small_steps_of_the_clock_as_the_same_pace) {
  EXPECT_TRUE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1980}));
  EXPECT_TRUE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1905}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1755}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1755}, {.sm_mhz = 1980}));
}

TEST(GpuWatch, treats_a_throttled_pace_as_different) {
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980, .is_throttled = true}, {.sm_mhz = 1980}));
  EXPECT_FALSE(is_same_pace({.sm_mhz = 1980}, {.sm_mhz = 1980, .is_throttled = true}));
}

TEST(GpuWatch, without_nvml_reports_an_unknown_pace) {
  EXPECT_TRUE(is_same_pace({}, {.sm_mhz = 1980}));
  GpuWatch without_nvml = GpuWatch::open("no such bus");
  EXPECT_FALSE(without_nvml.is_open());
  EXPECT_EQ(without_nvml.read().sm_mhz, 0U);
  EXPECT_FALSE(without_nvml.read().is_throttled);
}

}  // namespace
}  // namespace specgen
