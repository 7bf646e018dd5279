#include "evaluate/cpu/precompiled_header.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using Headers = std::vector<std::string>;

TEST(SlowHeaders, are_listed_in_a_fixed_order) {
  Headers both{"cmath", "immintrin.h"};
  EXPECT_EQ(slow_headers("#include <cmath>\n#include <immintrin.h>\nint x;\n"), both);
  EXPECT_EQ(slow_headers("// text\n#include <immintrin.h>\n\n#  include <cmath> \nint x;\n"), both);
  EXPECT_EQ(slow_headers("#include <cstdint>\n#include <algorithm>\nint x;\n"),
            Headers{"algorithm"});
  EXPECT_EQ(slow_headers("#include <cstdint>\nint x;\n"), Headers{});
}

TEST(SlowHeaders, count_only_before_any_other_code) {
  EXPECT_EQ(slow_headers("#define __AVX__ 0\n#include <immintrin.h>\nint x;\n"), Headers{});
  EXPECT_EQ(slow_headers("#pragma GCC optimize(\"O1\")\n#include <cmath>\nint x;\n"), Headers{});
  EXPECT_EQ(slow_headers("#if 0\n#include <cmath>\n#endif\nint x;\n"), Headers{});
  EXPECT_EQ(slow_headers("#include <cmath>\nint x;\n#include <algorithm>\n"), Headers{"cmath"});
  EXPECT_EQ(slow_headers("_Pragma(\"GCC optimize(1)\")\n#include <cmath>\n"), Headers{});
  EXPECT_EQ(slow_headers("/* #include <cmath>\n*/ int x;\n"), Headers{});
  EXPECT_EQ(slow_headers(""), Headers{});
}

}  // namespace
}  // namespace specgen
