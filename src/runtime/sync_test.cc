#include "runtime/sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<void> wait_and_note(Event& event, Log& log, std::string name) {
  co_await event.wait();
  log.push_back(std::move(name));
}

Task<void> acquire_and_keep(Semaphore& semaphore, Log& log, std::string name) {
  auto permit = co_await semaphore.acquire();
  log.push_back(std::move(name));
}

TEST(Event, wakes_all_waiters_once_in_order) {
  VirtualRuntime runtime;
  Log log;
  Event event(runtime.loop);
  TaskGroup group(runtime.loop);
  for (const char* name : {"a", "b", "c"}) group.spawn(wait_and_note(event, log, name));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_EQ(log, Log{});
  event.set();
  event.set();
  EXPECT_EQ(log, Log{}) << "set() must not resume anything";
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
}

TEST(Event, once_set_does_not_suspend_a_waiter) {
  VirtualRuntime runtime;
  Event event(runtime.loop);
  event.set();
  auto waiter = [](Event& its_event) -> Task<void> { co_await its_event.wait(); };
  runtime.loop.run(waiter(event));
  EXPECT_EQ(runtime.loop.events(), 1u);
}

TEST(Event, reset_affects_later_waiters_and_not_those_already_woken) {
  VirtualRuntime runtime;
  Log log;
  Event event(runtime.loop);
  TaskGroup group(runtime.loop);
  group.spawn(wait_and_note(event, log, "before"));
  runtime.loop.run(pass(runtime.loop, 2));
  event.set();
  event.reset();
  EXPECT_FALSE(event.is_set());
  group.spawn(wait_and_note(event, log, "after"));
  runtime.loop.run(pass(runtime.loop, 5));
  EXPECT_EQ(log, Log{"before"});
}

TEST(Event, destroying_it_unlinks_its_waiters) {
  VirtualRuntime runtime;
  Log log;
  auto event = std::make_unique<Event>(runtime.loop);
  TaskGroup group(runtime.loop);
  group.spawn(wait_and_note(*event, log, "woken"));
  runtime.loop.run(pass(runtime.loop, 2));
  event.reset();
  group.cancel();
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, Log{});
}

TEST(Semaphore, admits_as_many_as_it_has_permits) {
  VirtualRuntime runtime;
  Semaphore semaphore(runtime.loop, 3);
  struct Worker {
    static Task<void> run(Loop& loop, Semaphore& its_semaphore, int& inside, int& most) {
      auto permit = co_await its_semaphore.acquire();
      most = std::max(most, ++inside);
      co_await loop.sleep(1s);
      --inside;
    }
  };
  int inside = 0;
  int most = 0;
  TaskGroup group(runtime.loop);
  for (int i = 0; i < 10; ++i) group.spawn(Worker::run(runtime.loop, semaphore, inside, most));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(most, 3);
  EXPECT_EQ(runtime.loop.now(), at(4s));
  EXPECT_EQ(semaphore.free(), 3u);
}

TEST(Semaphore, is_fifo) {
  VirtualRuntime runtime;
  Log log;
  Semaphore semaphore(runtime.loop, 1);
  std::optional<Semaphore::Permit> held = semaphore.try_acquire();
  TaskGroup group(runtime.loop);
  for (const char* name : {"a", "b", "c"}) group.spawn(acquire_and_keep(semaphore, log, name));
  runtime.loop.run(pass(runtime.loop, 3));
  EXPECT_EQ(log, Log{});
  held.reset();
  EXPECT_FALSE(semaphore.try_acquire().has_value()) << "the permit is taken";
  EXPECT_EQ(semaphore.free(), 0u);
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"a", "b", "c"}));
}

TEST(Semaphore, a_waiter_cancelled_after_its_wake_up_passes_its_permit_on) {
  VirtualRuntime runtime;
  Log log;
  Semaphore semaphore(runtime.loop, 1);
  std::optional<Semaphore::Permit> held = semaphore.try_acquire();
  TaskGroup first(runtime.loop);
  TaskGroup second(runtime.loop);
  first.spawn(acquire_and_keep(semaphore, log, "a"));
  runtime.loop.run(pass(runtime.loop, 2));
  second.spawn(acquire_and_keep(semaphore, log, "b"));
  runtime.loop.run(pass(runtime.loop, 2));
  auto release_then_cancel = [](std::optional<Semaphore::Permit>& permit,
                                TaskGroup& group) -> Task<void> {
    permit.reset();  // a is ready, and is destroyed before its turn
    group.cancel();
    co_return;
  };
  runtime.loop.run(release_then_cancel(held, first));
  runtime.loop.run(second.join()).value();
  EXPECT_EQ(log, Log{"b"});
  EXPECT_EQ(semaphore.free(), 1u);
}

TEST(Semaphore, a_woken_waiter_destroyed_alone_returns_the_permit) {
  VirtualRuntime runtime;
  Log log;
  Semaphore semaphore(runtime.loop, 1);
  {
    TaskGroup group(runtime.loop);
    std::optional<Semaphore::Permit> held = semaphore.try_acquire();
    group.spawn(acquire_and_keep(semaphore, log, "a"));
    runtime.loop.run(pass(runtime.loop, 2));
    held.reset();
    EXPECT_EQ(semaphore.free(), 0u);
  }
  EXPECT_EQ(semaphore.free(), 1u);
}

TEST(Semaphore, a_waiter_cancelled_before_its_wake_up_only_leaves_the_list) {
  VirtualRuntime runtime;
  Log log;
  Semaphore semaphore(runtime.loop, 1);
  std::optional<Semaphore::Permit> held = semaphore.try_acquire();
  {
    TaskGroup group(runtime.loop);
    group.spawn(acquire_and_keep(semaphore, log, "a"));
    runtime.loop.run(pass(runtime.loop, 2));
  }
  held.reset();
  EXPECT_EQ(semaphore.free(), 1u);
}

TEST(Semaphore, a_moved_or_replaced_permit_is_released_once) {
  VirtualRuntime runtime;
  Semaphore semaphore(runtime.loop, 2);
  {
    Semaphore::Permit first = *semaphore.try_acquire();
    Semaphore::Permit second = std::move(first);
    EXPECT_EQ(semaphore.free(), 1u);
    second = *semaphore.try_acquire();
    EXPECT_EQ(semaphore.free(), 1u);
  }
  EXPECT_EQ(semaphore.free(), 2u);
}

}  // namespace
}  // namespace specgen
