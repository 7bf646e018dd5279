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

TEST(DeviceLock, one_holds_it_at_a_time_and_the_other_is_told) {
  RealWorld world;
  DeviceLock mine({unique("a")}), theirs({unique("a")});
  ASSERT_TRUE(world.loop.run(mine.acquire(world.loop, 1s)));
  std::string told;
  auto late =
      world.loop.run(theirs.acquire(world.loop, 30ms, [&](std::string_view text) { told = text; }));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::device_busy);
  EXPECT_FALSE(told.empty());
  mine.release();
  EXPECT_TRUE(world.loop.run(theirs.acquire(world.loop, 1s)));
  EXPECT_TRUE(theirs.held());
}

TEST(DeviceLock, devices_that_share_a_core_exclude_each_other) {
  RealWorld world;
  DeviceLock wide({unique("c1"), unique("c2")}), narrow({unique("c2")}), other({unique("c3")});
  ASSERT_TRUE(world.loop.run(wide.acquire(world.loop, 1s)));
  EXPECT_FALSE(world.loop.run(narrow.acquire(world.loop, 20ms)));
  EXPECT_TRUE(world.loop.run(other.acquire(world.loop, 1s)));
}

TEST(DeviceLock, what_was_taken_in_vain_is_given_back) {
  RealWorld world;
  DeviceLock second({unique("d2")}), both({unique("d1"), unique("d2")}), first({unique("d1")});
  ASSERT_TRUE(world.loop.run(second.acquire(world.loop, 1s)));
  EXPECT_FALSE(world.loop.run(both.acquire(world.loop, 20ms)));
  EXPECT_TRUE(world.loop.run(first.acquire(world.loop, 1s)));
}

}  // namespace
}  // namespace specgen
