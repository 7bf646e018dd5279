#include "runtime/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/testing.h"

namespace specgen {
namespace {

Task<int> number(int value) {
  co_return value;
}

Task<void> note(Log& log, std::string name) {
  log.push_back(std::move(name));
  co_return;
}

// Never returns.
Task<void> wait_inside(Loop& loop, Log& log, int depth) {
  LogOnDestroy at_end(log, "depth " + std::to_string(depth));
  if (depth == 0) {
    co_await loop.sleep(Duration::max());
  } else {
    co_await wait_inside(loop, log, depth - 1);
  }
  log.push_back("went on");
}

// Runs the task until it waits, then drops it.
Task<void> start_and_drop(Loop& loop, Task<void> task) {
  struct Starter {
    struct promise_type {
      Starter get_return_object() {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void unhandled_exception() noexcept { std::abort(); }
      void return_void() noexcept {}
    };
    static Starter start(Task<void> started) { co_await std::move(started); }
    std::coroutine_handle<promise_type> handle;
  };
  Starter starter = Starter::start(std::move(task));
  co_await loop.yield();
  starter.handle.destroy();
}

TEST(Task, does_nothing_until_it_is_awaited) {
  VirtualRuntime runtime;
  Log log;
  Task<void> task = note(log, "ran");
  EXPECT_TRUE(log.empty());
  EXPECT_FALSE(task.done());
  runtime.loop.run(std::move(task));
  EXPECT_EQ(log, Log{"ran"});
}

TEST(Task, that_never_started_destroys_its_parameters_and_runs_nothing) {
  Log log;
  {
    auto body = [](Log& its_log, LogOnDestroy) -> Task<void> {
      its_log.push_back("ran");
      co_return;
    };
    Task<void> task = body(log, LogOnDestroy(log, "parameter"));
    EXPECT_TRUE(log.empty());
  }
  EXPECT_EQ(log, Log{"parameter"});
}

TEST(Task, destroyed_while_it_waits_destroys_the_innermost_first_and_runs_no_further) {
  VirtualRuntime runtime;
  Log log;
  runtime.loop.run(start_and_drop(runtime.loop, wait_inside(runtime.loop, log, 3)));
  EXPECT_EQ(log, (Log{"depth 0", "depth 1", "depth 2", "depth 3"}));
}

TEST(Task, has_destroyed_its_locals_when_the_awaiting_task_resumes) {
  VirtualRuntime runtime;
  Log log;
  auto inner = [](Loop& loop, Log& its_log) -> Task<int> {
    LogOnDestroy at_end(its_log, "inner local");
    co_await loop.yield();
    co_return 3;
  };
  auto outer = [](Task<int> awaited, Log& its_log) -> Task<void> {
    int value = co_await std::move(awaited);
    its_log.push_back("outer got " + std::to_string(value));
  };
  runtime.loop.run(outer(inner(runtime.loop, log), log));
  EXPECT_EQ(log, (Log{"inner local", "outer got 3"}));
}

TEST(Task, awaits_a_million_immediate_tasks_without_growing_the_stack) {
  VirtualRuntime runtime;
  auto sum = []() -> Task<std::int64_t> {
    std::int64_t total = 0;
    for (int i = 0; i < 1'000'000; ++i) total += co_await number(1);
    co_return total;
  };
  EXPECT_EQ(runtime.loop.run(sum()), 1'000'000);
}

TEST(Task, finishes_through_many_levels_without_growing_the_stack) {
  VirtualRuntime runtime;
  struct Level {
    static Task<int> descend(Loop& loop, int depth) {
      if (depth == 0) {
        co_await loop.yield();
        co_return 0;
      }
      co_return 1 + co_await descend(loop, depth - 1);
    }
  };
  EXPECT_EQ(runtime.loop.run(Level::descend(runtime.loop, 100'000)), 100'000);
}

TEST(Task, may_return_a_move_only_result) {
  VirtualRuntime runtime;
  auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  auto pass_on = [](Task<std::unique_ptr<int>> inner) -> Task<std::unique_ptr<int>> {
    std::unique_ptr<int> value = co_await std::move(inner);
    co_return value;
  };
  EXPECT_EQ(*runtime.loop.run(pass_on(make())), 7);
}

TEST(Task, its_result_needs_no_default_constructor) {
  struct Exact {
    explicit Exact(int its_value) : value(its_value) {}
    Exact(Exact&&) = default;
    int value;
  };
  VirtualRuntime runtime;
  auto make = []() -> Task<Exact> { co_return Exact(5); };
  EXPECT_EQ(runtime.loop.run(make()).value, 5);
}

TEST(Task, an_unused_result_is_destroyed_once) {
  VirtualRuntime runtime;
  Log log;
  auto make = [](Log& its_log) -> Task<LogOnDestroy> { co_return LogOnDestroy(its_log, "result"); };
  auto drop = [](Loop& loop, Task<LogOnDestroy> task) -> Task<void> {
    (void)co_await std::move(task);
    co_await loop.yield();
  };
  runtime.loop.run(drop(runtime.loop, make(log)));
  EXPECT_EQ(log, Log{"result"});
}

TEST(Task, moving_keeps_one_task) {
  VirtualRuntime runtime;
  Log log;
  Task<void> first = note(log, "ran");
  Task<void> second = std::move(first);
  Task<void> third = note(log, "other");
  third = std::move(second);
  runtime.loop.run(std::move(third));
  EXPECT_EQ(log, Log{"ran"});
}

TEST(Task, a_replaced_task_is_destroyed) {
  Log log;
  auto body = [](LogOnDestroy) -> Task<void> { co_return; };
  Task<void> task = body(LogOnDestroy(log, "first"));
  task = body(LogOnDestroy(log, "second"));
  EXPECT_EQ(log, Log{"first"});
}

TEST(TaskDeathTest, a_moved_from_task_cannot_be_awaited) {
  VirtualRuntime runtime;
  auto twice = []() -> Task<int> {
    Task<int> task = number(1);
    Task<int> taken = std::move(task);
    co_return co_await std::move(task);  // NOLINT(bugprone-use-after-move): the bug under test
  };
  EXPECT_DEATH(runtime.loop.run(twice()), "a moved-from task is awaited");
}

TEST(TaskDeathTest, an_escaping_exception_ends_the_program_with_its_message) {
  VirtualRuntime runtime;
  auto thrower = []() -> Task<int> {
    throw std::runtime_error("no such row");
    co_return 1;
  };
  auto outer = [](Task<int> inner) -> Task<int> { co_return co_await std::move(inner); };
  EXPECT_DEATH(runtime.loop.run(outer(thrower())), "an exception left a task: no such row");
}

TEST(TaskDeathTest, an_escaping_object_of_another_type_ends_the_program_too) {
  VirtualRuntime runtime;
  auto thrower = []() -> Task<void> {
    throw 3;
    co_return;
  };
  EXPECT_DEATH(runtime.loop.run(thrower()), "an exception left a task: of an unknown type");
}

}  // namespace
}  // namespace specgen
