#include "evaluate/cpu/hidden_work.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

constexpr std::int64_t kMs = 1'000'000;

CallTiming honest() {
  return {.wall_ns = kMs, .awake_ns = kMs + 20'000, .cpu_ns = kMs + 40'000};
}
CallTiming late(std::int64_t hidden_ns) {
  CallTiming timing = honest();
  timing.cpu_ns = timing.awake_ns + hidden_ns;
  return timing;
}

TEST(HiddenWork, finds_none_in_normal_calls) {
  HiddenWork work;
  for (int i = 0; i < 1000; ++i) work.add(honest(), 1);
  EXPECT_FALSE(work.is_proven());
}

TEST(HiddenWork, needs_three_late_calls_in_a_row) {
  HiddenWork work;
  for (int i = 0; i < 2; ++i) work.add(late(kMs / 5), 1);
  EXPECT_FALSE(work.is_proven());
  work.add(late(kMs / 5), 1);
  EXPECT_TRUE(work.is_proven());
}

// A candidate that is on time now and then is never late in a row.
TEST(HiddenWork, finds_all_work_in_one_call_of_a_rotation) {
  HiddenWork work;
  for (int i = 0; i < 22; ++i) work.add(honest(), 1);  // checks
  for (int i = 0; i < 48; ++i) work.add(i % 16 == 3 ? late(15 * kMs) : honest(), 1);
  EXPECT_TRUE(work.is_proven());
}

TEST(HiddenWork, ignores_occasional_steal_time) {
  HiddenWork seldom, little;
  for (int i = 0; i < 200; ++i) seldom.add(i % 40 == 3 ? late(20 * kMs) : honest(), 1);
  for (int i = 0; i < 200; ++i) little.add(i % 10 == 3 ? late(kMs / 2) : honest(), 1);
  EXPECT_FALSE(seldom.is_proven());
  EXPECT_FALSE(little.is_proven());
}

TEST(HiddenWork, allows_time_for_every_thread) {
  HiddenWork work;
  CallTiming four = honest();
  four.cpu_ns = 4 * honest().cpu_ns;
  for (int i = 0; i < 10; ++i) work.add(four, 4);
  EXPECT_FALSE(work.is_proven());
  for (int i = 0; i < 3; ++i) work.add(four, 1);
  EXPECT_TRUE(work.is_proven());
}

}  // namespace
}  // namespace specgen
