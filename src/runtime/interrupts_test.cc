#include "runtime/interrupts.h"

#include <gtest/gtest.h>

#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

TEST(Interrupts, a_signal_is_awaited_instead_of_ending_us) {
  RealWorld world;
  auto interrupts = Interrupts::open(world.loop, world.driver).value();
  ::raise(SIGTERM);
  EXPECT_EQ(world.loop.run(interrupts->next()), SIGTERM);
  ::raise(SIGINT);
  EXPECT_EQ(world.loop.run(interrupts->next()), SIGINT);
}

TEST(Interrupts, a_signal_that_our_parent_ignores_stays_ignored) {
  RealWorld world;
  ::signal(SIGHUP, SIG_IGN);
  auto interrupts = Interrupts::open(world.loop, world.driver).value();
  ::raise(SIGHUP);
  ::raise(SIGTERM);
  EXPECT_EQ(world.loop.run(interrupts->next()), SIGTERM);
  ::signal(SIGHUP, SIG_DFL);
}

TEST(Interrupts, children_do_not_inherit_the_blocked_signals) {
  RealWorld world;
  auto interrupts = Interrupts::open(world.loop, world.driver).value();
  Processes processes(world.loop, world.driver);
  auto finished =
      world.loop.run(processes.run({.argv = {"sh", "-c", "kill -TERM $$; echo alive"}}));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit.signal, SIGTERM) << finished->output;
}

TEST(InterruptsDeathTest, the_end_is_by_the_signal) {
  EXPECT_EXIT(end_by(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace specgen
