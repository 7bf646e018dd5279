#include "runtime/thread_team.h"

#include <gtest/gtest.h>

#include <array>

#include "runtime/stopwatch.h"

namespace specgen {
namespace {

TEST(ThreadTeam, every_thread_works_once_per_run) {
  ThreadTeam team(4, {});
  std::array<std::atomic<int>, 4> calls{};
  for (int round = 0; round < 200; ++round) {
    team.wake();
    team.run([&](int number) { ++calls[static_cast<std::size_t>(number)]; });
    if (round % 3 == 0) team.rest();
  }
  for (auto& count : calls) EXPECT_EQ(count, 200);
}

TEST(ThreadTeam, a_barrier_waits_for_all_threads) {
  ThreadTeam team(3, {});
  std::array<std::atomic<int>, 50> arrived{};
  std::atomic<int> early = 0;
  team.wake();
  team.run([&](int) {
    for (auto& stage : arrived) {
      ++stage;
      team.barrier();
      if (stage != 3) ++early;
    }
  });
  EXPECT_EQ(early, 0);
}

TEST(ThreadTeam, a_team_of_one_works) {
  ThreadTeam team(1, {});
  int calls = 0;
  team.wake();
  team.run([&](int number) {
    team.barrier();
    calls += number + 1;
  });
  EXPECT_EQ(calls, 1);
}

TEST(Stopwatch, cpu_time_is_reported_for_running_processes_only) {
  EXPECT_GT(cpu_time_ns(::getpid()), 0);
  EXPECT_EQ(cpu_time_ns(99'999'999), -1);
  std::int64_t before = stopwatch_ns();
  EXPECT_GE(stopwatch_ns(), before);
}

TEST(Stopwatch, a_pinned_thread_reports_its_cores) {
  std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  ASSERT_TRUE(pin_to_cores({before.back()}));
  EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
  ASSERT_TRUE(pin_to_cores(before));
  EXPECT_FALSE(pin_to_cores({1000}));
}

}  // namespace
}  // namespace specgen
