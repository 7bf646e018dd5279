#include "evaluate/cpu/cpu_layout.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

namespace specgen {
namespace {

CpuLayout example() {
  CpuLayout layout;
  layout.sets = {
      {{.file = 0, .file_offset = 0, .map_bytes = 4096, .payload_offset = 64, .read_only = true},
       {.file = 1, .file_offset = 8192, .map_bytes = 4096}},
      {}};
  layout.integers = {1, -7, std::numeric_limits<std::int64_t>::max()};
  layout.reals = {0.1, -1e-300};
  layout.trailing_buffers = 1;
  layout.with_threads = false;
  return layout;
}

TEST(CpuLayout, survives_json_exactly) {
  auto parsed = parse_json(compact_json(to_json(example())));
  ASSERT_TRUE(parsed.has_value());
  auto back = cpu_layout_from_json(*parsed);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_json(*back), to_json(example()));
  EXPECT_EQ(back->integers, example().integers);
  EXPECT_EQ(back->reals, example().reals);
  ASSERT_EQ(back->sets.size(), 2U);
  EXPECT_TRUE(back->sets[0][0].read_only);
  EXPECT_FALSE(back->sets[0][1].read_only);
  EXPECT_EQ(back->sets[0][0].payload_offset, 64U);
}

TEST(CpuLayout, that_is_malformed_is_refused) {
  const std::string whole = compact_json(to_json(example()));
  for (std::string_view cut :
       {"\"sets\"", "\"integers\"", "\"reals\"", "\"trailing_buffers\"", "\"with_threads\""}) {
    std::string text = whole;
    text.replace(text.find(cut), cut.size(), "\"other\"");
    EXPECT_FALSE(cpu_layout_from_json(parse_json(text).value()).has_value()) << cut;
  }
  for (const char* text :
       {"null", "{}", R"({"sets": 1})",
        R"({"sets": [[[0, 0, 4096, 0]]], "integers": [], "reals": [], "trailing_buffers": 0,
            "with_threads": true})",
        R"({"sets": [[[0, -1, 4096, 0, 0]]], "integers": [], "reals": [], "trailing_buffers": 0,
            "with_threads": true})",
        R"({"sets": [], "integers": ["1"], "reals": [], "trailing_buffers": 0,
            "with_threads": true})"}) {
    EXPECT_FALSE(cpu_layout_from_json(parse_json(text).value()).has_value()) << text;
  }
}

}  // namespace
}  // namespace specgen
