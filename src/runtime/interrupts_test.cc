#include "runtime/interrupts.h"

#include <gtest/gtest.h>

#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

TEST(Interrupts, a_signal_is_awaited_and_does_not_end_the_process) {
  RealRuntime runtime;
  auto interrupts = Interrupts::open(runtime.loop, runtime.driver).value();
  ::raise(SIGTERM);
  EXPECT_EQ(runtime.loop.run(interrupts->next()), SIGTERM);
  ::raise(SIGINT);
  EXPECT_EQ(runtime.loop.run(interrupts->next()), SIGINT);
}

TEST(Interrupts, an_inherited_ignored_signal_stays_ignored) {
  RealRuntime runtime;
  ::signal(SIGHUP, SIG_IGN);
  auto interrupts = Interrupts::open(runtime.loop, runtime.driver).value();
  ::raise(SIGHUP);
  ::raise(SIGTERM);
  EXPECT_EQ(runtime.loop.run(interrupts->next()), SIGTERM);
  ::signal(SIGHUP, SIG_DFL);
}

TEST(Interrupts, children_do_not_inherit_the_blocked_signals) {
  RealRuntime runtime;
  auto interrupts = Interrupts::open(runtime.loop, runtime.driver).value();
  Processes processes(runtime.loop, runtime.driver);
  auto finished =
      runtime.loop.run(processes.run({.argv = {"sh", "-c", "kill -TERM $$; echo alive"}}));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->exit.signal, SIGTERM) << finished->output;
}

TEST(InterruptsDeathTest, end_by_ends_the_process_by_the_signal) {
  EXPECT_EXIT(end_by(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace specgen
