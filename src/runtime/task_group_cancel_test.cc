// Cancelling a TaskGroup from inside a child, from a
// destructor, from outside the loop.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(TaskGroupCancel, a_child_that_cancels_and_ends_without_waiting_is_destroyed_once) {
  VirtualRuntime runtime;
  Log log;
  auto suicide = [](TaskGroup& group, Log& its_log) -> Task<void> {
    LogOnDestroy at_end(its_log, "local");
    group.cancel();
    EXPECT_EQ(group.size(), 0u);
    its_log.push_back("still runs");
    co_return;
  };
  TaskGroup group(runtime.loop);
  group.spawn(suicide(group, log));
  group.spawn(run_logged(runtime.loop, 1s, log, "sibling"));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, (Log{"still runs", "local"}));
}

TEST(TaskGroupCancel, a_child_that_cancels_and_then_fails_counts_as_cancelled) {
  VirtualRuntime runtime;
  auto child = [](TaskGroup& group) -> Task<Result<void>> {
    group.cancel();
    co_return fail(ErrorCode::timeout, "after the cancel");
  };
  TaskGroup group(runtime.loop);
  group.spawn(child(group));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
}

Task<void> cancel_deep_inside(Loop& loop, TaskGroup& group, Log& log, int depth) {
  LogOnDestroy at_end(log, "depth " + std::to_string(depth));
  if (depth > 0) {
    co_await cancel_deep_inside(loop, group, log, depth - 1);
  } else {
    group.cancel();
    co_await loop.yield();
  }
  log.push_back("went on");
}

TEST(TaskGroupCancel, a_child_may_cancel_from_a_nested_task_and_stops_at_its_next_wait) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(cancel_deep_inside(runtime.loop, group, log, 2));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, (Log{"depth 0", "depth 1", "depth 2"}));
}

TEST(TaskGroupCancel, a_cancelled_child_continues_through_ready_awaits_to_its_first_suspension) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Loop& loop, TaskGroup& group, Log& its_log) -> Task<void> {
    Event happened(loop);
    happened.set();
    group.cancel();
    co_await happened.wait();
    its_log.push_back("past the event");
    (void)co_await race(happened.wait(), loop.sleep(1s));
    its_log.push_back("past the race");
    (void)co_await group.join();
    its_log.push_back("joined its own group");
  };
  TaskGroup group(runtime.loop);
  group.spawn(child(runtime.loop, group, log));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, (Log{"past the event", "past the race"}));
}

TEST(TaskGroupCancel, inside_a_branch_of_a_race_destroys_all_branches) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Loop& loop, TaskGroup& group, Log& its_log) -> Task<void> {
    LogOnDestroy at_end(its_log, "child");
    (void)co_await race(run_logged(loop, 9s, its_log, "other"),
                        cancel_deep_inside(loop, group, its_log, 1));
    its_log.push_back("raced");
  };
  TaskGroup group(runtime.loop);
  group.spawn(child(runtime.loop, group, log));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  std::ranges::sort(log);
  EXPECT_EQ(log, (Log{"child", "depth 0", "depth 1", "other began", "other destroyed"}));
}

TEST(TaskGroupCancel, destroys_children_that_were_ready_in_the_same_turn) {
  VirtualRuntime runtime;
  Log log;
  auto canceller = [](Loop& loop, TaskGroup& group) -> Task<void> {
    co_await loop.yield();
    group.cancel();
  };
  TaskGroup group(runtime.loop);
  group.spawn(canceller(runtime.loop, group));
  auto ready = [](Loop& loop, Log& its_log) -> Task<void> {
    its_log.push_back("first step");
    co_await loop.yield();
    its_log.push_back("second step");
  };
  group.spawn(ready(runtime.loop, log));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, Log{"first step"});
}

TEST(TaskGroupCancel, from_outside_the_loop_leaves_nothing_to_run) {
  VirtualRuntime runtime;
  Log log;
  Event event(runtime.loop);
  auto waiter = [](Event& its_event, Log& its_log) -> Task<void> {
    co_await its_event.wait();
    its_log.push_back("ran");
  };
  TaskGroup group(runtime.loop);
  group.spawn(waiter(event, log));
  runtime.loop.run(pass(runtime.loop, 2));
  group.spawn(run_logged(runtime.loop, 1s, log, "not begun"));
  event.set();
  group.cancel();
  runtime.loop.run(pass(runtime.loop, 3));
  EXPECT_EQ(log, Log{});
}

TEST(TaskGroupCancel, followed_by_leaving_the_scope_cancels_once) {
  VirtualRuntime runtime;
  Log log;
  auto parent = [](Loop& loop, Log& its_log) -> Task<void> {
    TaskGroup group(loop);
    group.spawn(run_logged(loop, 9s, its_log, "child"));
    co_await loop.sleep(1s);
    group.cancel();
    group.cancel();
  };
  runtime.loop.run(parent(runtime.loop, log));
  EXPECT_EQ(log, (Log{"child began", "child destroyed"}));
}

TEST(TaskGroupCancel, of_the_outer_group_by_a_grandchild_ends_all_levels) {
  VirtualRuntime runtime;
  Log log;
  auto parent = [](Loop& loop, TaskGroup& outer, Log& its_log) -> Task<void> {
    LogOnDestroy at_end(its_log, "parent");
    TaskGroup inner(loop);
    inner.spawn(run_logged(loop, 9s, its_log, "sibling"));
    inner.spawn(cancel_deep_inside(loop, outer, its_log, 0));
    (void)co_await inner.join();
    its_log.push_back("joined");
  };
  TaskGroup outer(runtime.loop);
  outer.spawn(parent(runtime.loop, outer, log));
  EXPECT_TRUE(runtime.loop.run(outer.join()).has_value());
  EXPECT_EQ(log, (Log{"sibling began", "sibling destroyed", "depth 0", "parent"}));
}

struct CancelsOnItsWayOut {
  TaskGroup* group;
  explicit CancelsOnItsWayOut(TaskGroup& its_group) : group(&its_group) {}
  CancelsOnItsWayOut(CancelsOnItsWayOut&& other) noexcept
      : group(std::exchange(other.group, nullptr)) {}
  ~CancelsOnItsWayOut() {
    if (group) group->cancel();
  }
};

Task<void> hold(Loop& loop, CancelsOnItsWayOut) {
  co_await loop.sleep(Duration::max());
}

TEST(TaskGroupCancel, by_the_destructor_of_a_child_of_another_group_takes_effect_at_once) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup second(runtime.loop);
  TaskGroup first(runtime.loop);
  first.spawn(hold(runtime.loop, CancelsOnItsWayOut(second)));
  auto canceller = [](Loop& loop, TaskGroup& group) -> Task<void> {
    co_await loop.sleep(1s);
    group.cancel();
  };
  TaskGroup others(runtime.loop);
  others.spawn(canceller(runtime.loop, first));
  second.spawn(run_logged(runtime.loop, 1s, log, "same instant"));
  runtime.loop.run(nap(runtime.loop, 2s));
  EXPECT_EQ(log, (Log{"same instant began", "same instant destroyed"}));
}

TEST(TaskGroupCancel, by_a_destructor_outside_the_loop_takes_effect_at_once) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup second(runtime.loop);
  {
    TaskGroup first(runtime.loop);
    first.spawn(hold(runtime.loop, CancelsOnItsWayOut(second)));
    second.spawn(run_logged(runtime.loop, 1s, log, "not begun"));
  }
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_EQ(log, Log{});
}

TEST(TaskGroupCancel, by_a_destructor_in_the_running_task_lets_it_run_to_its_next_wait) {
  VirtualRuntime runtime;
  Log log;
  auto child = [](Loop& loop, TaskGroup& own, Log& its_log) -> Task<void> {
    LogOnDestroy at_end(its_log, "child");
    {
      TaskGroup inner(loop);
      inner.spawn(hold(loop, CancelsOnItsWayOut(own)));
      co_await loop.yield();
    }
    its_log.push_back("cancelled");
    co_await loop.yield();
    its_log.push_back("went on");
  };
  TaskGroup group(runtime.loop);
  group.spawn(child(runtime.loop, group, log));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, (Log{"cancelled", "child"}));
}

TEST(TaskGroupCancel, by_a_finished_child_s_own_destructor_reaches_its_siblings) {
  VirtualRuntime runtime;
  Log log;
  auto brief = [](CancelsOnItsWayOut) -> Task<void> { co_return; };
  TaskGroup group(runtime.loop);
  group.spawn(run_logged(runtime.loop, 9s, log, "sibling"));
  group.spawn(brief(CancelsOnItsWayOut(group)));
  EXPECT_TRUE(runtime.loop.run(group.join()).has_value());
  EXPECT_EQ(log, (Log{"sibling began", "sibling destroyed"}));
}

}  // namespace
}  // namespace specgen
