#include "evaluate/judge/device_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::string unique(std::string_view name) {
  return "test-" + std::to_string(::getpid()) + "-" + std::string(name);
}

TEST(DeviceLock, one_process_holds_it_at_a_time_and_the_other_reports_that_it_waits) {
  RealRuntime runtime;
  DeviceLock mine({unique("a")}), theirs({unique("a")});
  ASSERT_TRUE(runtime.loop.run(mine.acquire(runtime.loop, 1s)));
  std::string progress;
  auto late = runtime.loop.run(
      theirs.acquire(runtime.loop, 30ms, [&](std::string_view text) { progress = text; }));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::device_busy);
  EXPECT_FALSE(progress.empty());
  mine.release();
  EXPECT_TRUE(runtime.loop.run(theirs.acquire(runtime.loop, 1s)));
  EXPECT_TRUE(theirs.held());
}

TEST(DeviceLock, devices_that_share_a_core_exclude_each_other) {
  RealRuntime runtime;
  DeviceLock wide({unique("c1"), unique("c2")}), narrow({unique("c2")}), other({unique("c3")});
  ASSERT_TRUE(runtime.loop.run(wide.acquire(runtime.loop, 1s)));
  EXPECT_FALSE(runtime.loop.run(narrow.acquire(runtime.loop, 20ms)));
  EXPECT_TRUE(runtime.loop.run(other.acquire(runtime.loop, 1s)));
}

TEST(DeviceLock, what_was_taken_in_vain_is_given_back) {
  RealRuntime runtime;
  DeviceLock second({unique("d2")}), both({unique("d1"), unique("d2")}), first({unique("d1")});
  ASSERT_TRUE(runtime.loop.run(second.acquire(runtime.loop, 1s)));
  EXPECT_FALSE(runtime.loop.run(both.acquire(runtime.loop, 20ms)));
  EXPECT_TRUE(runtime.loop.run(first.acquire(runtime.loop, 1s)));
}

}  // namespace
}  // namespace specgen
