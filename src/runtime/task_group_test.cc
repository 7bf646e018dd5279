#include "runtime/task_group.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<Result<void>> fail_after(Loop& loop, Duration duration, std::string why) {
  co_await loop.sleep(duration);
  co_return fail(ErrorCode::timeout, std::move(why));
}

TEST(TaskGroup, runs_its_children_concurrently) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop);
  for (int i = 0; i < 100; ++i) group.spawn(nap(runtime.loop, 1s));
  EXPECT_EQ(group.size(), 100u);
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(runtime.loop.now(), at(1s));
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, starts_a_child_at_its_turn_and_not_inside_spawn) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(run_logged(runtime.loop, 1s, log, "child"));
  EXPECT_EQ(log, Log{});
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"child began", "child ended", "child destroyed"}));
}

TEST(TaskGroup, without_children_is_joined_at_once) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop);
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(runtime.loop.events(), 1u);
}

TEST(TaskGroup, the_first_failure_cancels_the_siblings_and_is_what_join_reports) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(run_logged(runtime.loop, 9s, log, "older"));
  group.spawn(fail_after(runtime.loop, 2s, "second failure"));
  group.spawn(fail_after(runtime.loop, 1s, "first failure"));
  group.spawn(fail_after(runtime.loop, 1s, "failure in the same instant"));
  group.spawn(run_logged(runtime.loop, 9s, log, "younger"));
  Result<void> joined = runtime.loop.run(group.join());
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().context, "first failure");
  EXPECT_EQ(log, (Log{"older began", "younger began", "older destroyed", "younger destroyed"}));
  EXPECT_EQ(runtime.loop.now(), at(1s));
  EXPECT_TRUE(group.closed());
}

TEST(TaskGroup, a_child_that_fails_at_once_cancels_those_that_have_not_started) {
  VirtualRuntime runtime;
  Log log;
  auto failing = []() -> Task<Result<void>> { co_return fail(ErrorCode::timeout, "at once"); };
  TaskGroup group(runtime.loop);
  group.spawn(failing());
  group.spawn(run_logged(runtime.loop, 1s, log, "never"));
  EXPECT_EQ(runtime.loop.run(group.join()).error().context, "at once");
  EXPECT_EQ(log, Log{});
}

TEST(TaskGroup, reports_its_failure_to_every_later_join) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop);
  group.spawn(fail_after(runtime.loop, 1s, "early"));
  runtime.loop.run(nap(runtime.loop, 2s));
  EXPECT_EQ(runtime.loop.run(group.join()).error().context, "early");
  EXPECT_EQ(runtime.loop.run(group.join()).error().context, "early");
}

TEST(TaskGroup, children_are_destroyed_when_join_returns) {
  VirtualRuntime runtime;
  Log log;
  auto parent = [](Loop& loop, Log& its_log) -> Task<void> {
    TaskGroup group(loop);
    group.spawn(run_logged(loop, 1s, its_log, "child"));
    auto canceller = [](Loop& its_loop, TaskGroup& its_group) -> Task<void> {
      co_await its_loop.sleep(500ms);
      its_group.cancel();
    };
    group.spawn(canceller(loop, group));
    EXPECT_TRUE((co_await group.join()).has_value()) << "cancellation is not an error";
    its_log.push_back("joined");
  };
  runtime.loop.run(parent(runtime.loop, log));
  EXPECT_EQ(log, (Log{"child began", "child destroyed", "joined"}));
}

TEST(TaskGroup, frees_the_frame_of_an_ended_child_before_join) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Loop& loop, LogOnDestroy) -> Task<void> { co_await loop.sleep(1s); };
  TaskGroup group(runtime.loop);
  group.spawn(child(runtime.loop, LogOnDestroy(log, "frame freed")));
  group.spawn(nap(runtime.loop, 9s));
  runtime.loop.run(nap(runtime.loop, 2s));
  EXPECT_EQ(log, Log{"frame freed"});
  EXPECT_EQ(group.size(), 1u);
}

TEST(TaskGroup, many_children_in_sequence_do_not_accumulate) {
  VirtualRuntime runtime;
  auto child = [](int& ran) -> Task<void> {
    ++ran;
    co_return;
  };
  auto parent = [](Loop& loop, auto spawn_child, int& ran) -> Task<void> {
    TaskGroup group(loop, 10);  // the limit is on concurrent children, not on the total
    for (int i = 0; i < 200'000; ++i) {
      group.spawn(spawn_child(ran));
      if (i % 10 == 9) (void)co_await group.join();
    }
  };
  int ran = 0;
  runtime.loop.run(parent(runtime.loop, child, ran));
  EXPECT_EQ(ran, 200'000);
}

TEST(TaskGroup, more_may_be_spawned_after_a_join) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop);
  group.spawn(nap(runtime.loop, 1s));
  runtime.loop.run(group.join()).value();
  group.spawn(nap(runtime.loop, 1s));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(runtime.loop.now(), at(2s));
}

TEST(TaskGroup, join_waits_for_children_that_children_spawn) {
  VirtualRuntime runtime;
  Log log;
  auto parent = [](Loop& loop, TaskGroup& group, Log& its_log) -> Task<void> {
    co_await loop.sleep(1s);
    group.spawn(run_logged(loop, 1s, its_log, "grandchild"));
  };
  TaskGroup group(runtime.loop);
  group.spawn(parent(runtime.loop, group, log));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"grandchild began", "grandchild ended", "grandchild destroyed"}));
  EXPECT_EQ(runtime.loop.now(), at(2s));
}

TEST(TaskGroup, leaving_the_scope_cancels) {
  VirtualRuntime runtime;
  Log log;
  auto parent = [](Loop& loop, Log& its_log) -> Task<void> {
    {
      TaskGroup group(loop);
      group.spawn(run_logged(loop, 9s, its_log, "child"));
      co_await loop.sleep(1s);
    }
    its_log.push_back("left");
  };
  runtime.loop.run(parent(runtime.loop, log));
  EXPECT_EQ(log, (Log{"child began", "child destroyed", "left"}));
}

TEST(TaskGroup, destroyed_before_its_children_began_runs_none_and_frees_all) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Log& its_log, LogOnDestroy) -> Task<void> {
    its_log.push_back("ran");
    co_return;
  };
  {
    TaskGroup group(runtime.loop);
    group.spawn(child(log, LogOnDestroy(log, "one")));
    group.spawn(child(log, LogOnDestroy(log, "two")));
  }
  EXPECT_EQ(log, (Log{"one", "two"}));
  runtime.loop.run(pass(runtime.loop, 3));
  EXPECT_EQ(log.size(), 2u);
}

TEST(TaskGroup, drops_tasks_spawned_after_a_cancel) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.cancel();
  auto child = [](Log& its_log, LogOnDestroy) -> Task<void> {
    its_log.push_back("ran");
    co_return;
  };
  group.spawn(child(log, LogOnDestroy(log, "dropped")));
  EXPECT_EQ(log, Log{"dropped"});
  EXPECT_EQ(group.size(), 0u);
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, Log{"dropped"});
}

TEST(TaskGroup, may_be_destroyed_while_its_joiner_is_cancelled) {
  VirtualRuntime runtime;
  Log log;
  auto joiner = [](Loop& loop, Log& its_log) -> Task<void> {
    TaskGroup inner(loop);
    inner.spawn(run_logged(loop, 9s, its_log, "inner"));
    (void)co_await inner.join();
    its_log.push_back("joined");
  };
  {
    TaskGroup outer(runtime.loop);
    outer.spawn(joiner(runtime.loop, log));
    runtime.loop.run(nap(runtime.loop, 1s));
  }
  EXPECT_EQ(log, (Log{"inner began", "inner destroyed"}));
}

TEST(TaskGroup, a_join_that_lost_a_race_may_be_awaited_again) {
  VirtualRuntime runtime;
  auto parent = [](Loop& loop) -> Task<int> {
    TaskGroup group(loop);
    group.spawn(nap(loop, 10s));
    int asked = 0;
    while (true) {
      ++asked;
      auto event = co_await race(group.join(), loop.sleep(3s));
      if (event.first()) co_return asked;
    }
  };
  EXPECT_EQ(runtime.loop.run(parent(runtime.loop)), 4);
}

TEST(TaskGroup, join_at_the_instant_a_child_ends_waits_for_its_destruction) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Log& its_log, LogOnDestroy) -> Task<void> {
    its_log.push_back("child ran");
    co_return;
  };
  auto parent = [](Loop& loop, auto spawn_child, Log& its_log) -> Task<void> {
    TaskGroup group(loop);
    group.spawn(spawn_child(its_log, LogOnDestroy(its_log, "child freed")));
    (void)co_await group.join();
    its_log.push_back("joined");
  };
  runtime.loop.run(parent(runtime.loop, child, log));
  EXPECT_EQ(log, (Log{"child ran", "child freed", "joined"}));
}

TEST(TaskGroup, a_failure_of_a_nested_group_propagates_by_its_join) {
  VirtualRuntime runtime;
  Log log;
  auto middle = [](Loop& loop, Log& its_log) -> Task<Result<void>> {
    TaskGroup inner(loop);
    inner.spawn(run_logged(loop, 9s, its_log, "cousin"));
    inner.spawn(fail_after(loop, 1s, "deep inside"));
    co_return co_await inner.join();
  };
  TaskGroup outer(runtime.loop);
  outer.spawn(middle(runtime.loop, log));
  outer.spawn(run_logged(runtime.loop, 9s, log, "uncle"));
  EXPECT_EQ(runtime.loop.run(outer.join()).error().context, "deep inside");
  EXPECT_EQ(log, (Log{"uncle began", "cousin began", "cousin destroyed", "uncle destroyed"}));
}

TEST(TaskGroupDeathTest, over_its_limit_is_a_bug) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop, 2);
  group.spawn(nap(runtime.loop, 1s));
  group.spawn(nap(runtime.loop, 1s));
  EXPECT_DEATH(group.spawn(nap(runtime.loop, 1s)), "a task group is over its limit");
}

TEST(TaskGroupDeathTest, two_joiners_are_a_bug) {
  VirtualRuntime runtime;
  auto both = [](Loop& loop) -> Task<void> {
    TaskGroup group(loop);
    group.spawn(nap(loop, 1s));
    (void)co_await race(group.join(), group.join());
  };
  EXPECT_DEATH(runtime.loop.run(both(runtime.loop)), "two tasks join one group");
}

TEST(TaskGroup, join_waits_for_children_spawned_between_its_wake_up_and_its_turn) {
  VirtualRuntime runtime;
  Log log;
  auto late = [](Loop& loop, TaskGroup& group, Log& its_log) -> Task<void> {
    co_await loop.yield();  // behind the child that ends, before the joiner that it wakes
    group.spawn(run_logged(loop, 1s, its_log, "late child"));
  };
  auto scene = [](Loop& loop, auto spawn_late, Log& its_log) -> Task<void> {
    TaskGroup group(loop), outside(loop);
    group.spawn(pass(loop, 1));
    outside.spawn(spawn_late(loop, group, its_log));
    (void)co_await group.join();
    its_log.push_back("joined");
  };
  runtime.loop.run(scene(runtime.loop, late, log));
  EXPECT_EQ(log, (Log{"late child began", "late child ended", "late child destroyed", "joined"}));
}

}  // namespace
}  // namespace specgen
