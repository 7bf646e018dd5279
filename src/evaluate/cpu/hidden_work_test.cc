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

TEST(HiddenWork, honest_calls_hide_nothing) {
  HiddenWork work;
  for (int i = 0; i < 1000; ++i) work.add(honest(), 1);
  EXPECT_FALSE(work.is_proven());
}

TEST(HiddenWork, three_calls_in_a_row_are_proof_and_two_are_not) {
  HiddenWork work;
  for (int i = 0; i < 2; ++i) work.add(late(kMs / 5), 1);
  EXPECT_FALSE(work.is_proven());
  work.add(late(kMs / 5), 1);
  EXPECT_TRUE(work.is_proven());
}

// Whoever is punctual now and then would never be late in a row.
TEST(HiddenWork, all_of_the_work_in_one_call_of_a_rotation_is_proof) {
  HiddenWork work;
  for (int i = 0; i < 22; ++i) work.add(honest(), 1);  // checks
  for (int i = 0; i < 48; ++i) work.add(i % 16 == 3 ? late(15 * kMs) : honest(), 1);
  EXPECT_TRUE(work.is_proven());
}

TEST(HiddenWork, what_a_host_takes_now_and_then_is_no_proof) {
  HiddenWork seldom, little;
  for (int i = 0; i < 200; ++i) seldom.add(i % 40 == 3 ? late(20 * kMs) : honest(), 1);
  for (int i = 0; i < 200; ++i) little.add(i % 10 == 3 ? late(kMs / 2) : honest(), 1);
  EXPECT_FALSE(seldom.is_proven());
  EXPECT_FALSE(little.is_proven());
}

TEST(HiddenWork, every_thread_has_its_time) {
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
