#include "kvcache/break_even.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

// 16,384 tokens of 131,072 bytes are 2.15 GB, and an H200 computes them in 0.5 s: 4.3 GB/s.
constexpr ComputingRate kEightBillion{.prefill_tokens_per_s = 32768, .bytes_per_token = 131072};

TEST(BreakEven, fetching_loses_below_the_threshold_and_wins_above_it) {
  EXPECT_NEAR(break_even_bytes_per_s(kEightBillion).value(), 4.295e9, 1e6);
  EXPECT_TRUE(fetching_is_slower(1.25e9, kEightBillion));
  EXPECT_FALSE(fetching_is_slower(5e9, kEightBillion));
}

TEST(BreakEven, a_value_is_served_if_a_rate_is_unknown) {
  EXPECT_FALSE(fetching_is_slower(1, {}));
  EXPECT_FALSE(fetching_is_slower(1, {.prefill_tokens_per_s = 1000, .bytes_per_token = 0}));
  EXPECT_FALSE(fetching_is_slower(0, kEightBillion));
  EXPECT_FALSE(break_even_bytes_per_s({}).has_value());
}

TEST(BreakEven, the_text_has_the_threshold_and_its_inputs) {
  EXPECT_EQ(
      break_even_text(kEightBillion),
      "a fetch wins above 4.29 GB/s (131072 bytes a token, 32768 tokens a second of prefill)");
  EXPECT_TRUE(break_even_text({}).contains("unknown"));
}

}  // namespace
}  // namespace specgen
