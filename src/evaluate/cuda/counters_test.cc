#include "evaluate/cuda/counters.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

TEST(Counters, read_the_profilers_table_with_its_units) {
  Json kernels = read_counters(
      "==PROF== Connected\n"
      "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\"\n"
      "\"\",\"\",\"Mbyte\",\"us\"\n"
      "\"0\",\"copy(const float *, float *)\",\"1,234.5\",\"2.5\"\n");
  ASSERT_EQ(kernels.as_array().size(), 1U);
  EXPECT_EQ(text_at(kernels.as_array()[0], "name"), "copy(const float *, float *)");
  EXPECT_DOUBLE_EQ(number_at(kernels.as_array()[0], "dram_bytes_read"), 1234.5e6);
  EXPECT_DOUBLE_EQ(number_at(kernels.as_array()[0], "time_ns"), 2500);
}

TEST(Counters, are_empty_without_a_table) {
  EXPECT_TRUE(read_counters("==ERROR== ERR_NVGPUCTRPERM\n").as_array().empty());
  EXPECT_TRUE(read_counters("").as_array().empty());
  EXPECT_TRUE(read_counters("\"ID\"\n").as_array().empty());
}

}  // namespace
}  // namespace specgen
