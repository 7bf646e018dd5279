#include "runtime/loop.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<void> sleep_and_note(Loop& loop, Duration duration, Log& log, std::string name) {
  co_await loop.sleep(duration);
  log.push_back(std::move(name));
}

TEST(Loop, resumes_tasks_in_the_order_in_which_they_became_ready) {
  VirtualRuntime runtime;
  Log log;
  auto steps = [](Loop& loop, Log& its_log, std::string name) -> Task<void> {
    for (int i = 0; i < 3; ++i) {
      its_log.push_back(name + std::to_string(i));
      co_await loop.yield();
    }
  };
  TaskGroup group(runtime.loop);
  group.spawn(steps(runtime.loop, log, "a"));
  group.spawn(steps(runtime.loop, log, "b"));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"a0", "b0", "a1", "b1", "a2", "b2"}));
}

TEST(Loop, wakes_sleepers_by_deadline_and_then_by_order_of_suspension) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(sleep_and_note(runtime.loop, 3ms, log, "third"));
  group.spawn(sleep_and_note(runtime.loop, 1ms, log, "first"));
  group.spawn(sleep_and_note(runtime.loop, 2ms, log, "second"));
  group.spawn(sleep_and_note(runtime.loop, 1ms, log, "first again"));
  group.spawn(sleep_and_note(runtime.loop, 3ms, log, "third again"));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"first", "first again", "second", "third", "third again"}));
  EXPECT_EQ(runtime.loop.now(), at(3ms));
}

TEST(Loop, runs_everything_that_is_ready_before_time_advances) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(sleep_and_note(runtime.loop, 1ns, log, "a nanosecond later"));
  auto busy = [](Loop& loop, Log& its_log) -> Task<void> {
    co_await pass(loop, 1000);
    EXPECT_EQ(loop.now(), at(0ns));
    its_log.push_back("a thousand turns");
  };
  group.spawn(busy(runtime.loop, log));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"a thousand turns", "a nanosecond later"}));
}

TEST(Loop, serves_due_timers_among_busy_tasks) {
  VirtualRuntime runtime;
  bool slept = false;
  auto busy = [](Loop& loop, const bool& end) -> Task<int> {
    int turns = 0;
    while (!end && turns < 100) {
      co_await loop.yield();
      ++turns;
    }
    co_return turns;
  };
  auto sleeper = [](Loop& loop, bool& end) -> Task<void> {
    co_await loop.sleep(0ns);
    end = true;
  };
  TaskGroup group(runtime.loop);
  group.spawn(sleeper(runtime.loop, slept));
  EXPECT_LT(runtime.loop.run(busy(runtime.loop, slept)), 5);
}

TEST(Loop, a_sleep_of_zero_yields_to_ready_tasks) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(sleep_and_note(runtime.loop, 0ns, log, "slept"));
  group.spawn(sleep_and_note(runtime.loop, -5s, log, "slept less than nothing"));
  group.spawn(sleep_and_note(runtime.loop, Duration::min(), log, "slept least"));
  auto ready = [](Log& its_log) -> Task<void> {
    its_log.push_back("was ready");
    co_return;
  };
  group.spawn(ready(log));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, (Log{"was ready", "slept least", "slept less than nothing", "slept"}));
  EXPECT_EQ(runtime.loop.now(), at(0ns)) << "time does not run backwards";
}

TEST(Loop, a_sleep_past_the_end_of_time_ends_there) {
  VirtualRuntime runtime;
  auto sleeper = [](Loop& loop) -> Task<void> {
    co_await loop.sleep(1s);
    co_await loop.sleep(Duration::max());
    EXPECT_EQ(loop.now(), Time::max());
    co_await loop.sleep(1s);
    co_await loop.sleep(Duration::max());
    EXPECT_EQ(loop.now(), Time::max());
  };
  runtime.loop.run(sleeper(runtime.loop));
}

TEST(Loop, an_endless_sleep_does_not_block_other_timers) {
  VirtualRuntime runtime;
  TaskGroup group(runtime.loop);
  group.spawn(nap(runtime.loop, Duration::max()));
  runtime.loop.run(nap(runtime.loop, 1s));
  EXPECT_EQ(runtime.loop.now(), at(1s));
}

TEST(Loop, sleep_until_the_past_returns) {
  VirtualRuntime runtime;
  auto sleeper = [](Loop& loop) -> Task<void> {
    co_await loop.sleep(5s);
    co_await loop.sleep_until(at(2s));
    co_await loop.sleep_until(Time::min());
    EXPECT_EQ(loop.now(), at(5s));
  };
  runtime.loop.run(sleeper(runtime.loop));
}

TEST(Loop, the_duration_counts_from_the_call_of_sleep) {
  VirtualRuntime runtime;
  auto sleeper = [](Loop& loop) -> Task<void> {
    auto until_ten = loop.sleep(10s);
    co_await loop.sleep(4s);
    co_await until_ten;
    EXPECT_EQ(loop.now(), at(10s));
  };
  runtime.loop.run(sleeper(runtime.loop));
}

// Records the calls of the loop.
class AskedDriver final : public Driver {
 public:
  Time now() const override { return now_; }
  WallTime wall_now() const override { return {}; }
  Random& random() override { return random_; }
  bool wait(std::optional<Time> deadline) override {
    asked.push_back(deadline);
    now_ = deadline.value_or(now_);
    return deadline.has_value();
  }
  void poll() override {}
  std::vector<std::optional<Time>> asked;

 private:
  Time now_{};
  Random random_{1};
};

TEST(Loop, a_destroyed_sleeper_removes_its_timer) {
  AskedDriver driver;
  Loop loop(driver);
  {
    TaskGroup group(loop);
    group.spawn(nap(loop, 2s));
    group.spawn(nap(loop, 3s));
    loop.run(nap(loop, 1s));
  }
  loop.run(nap(loop, 9s));
  EXPECT_EQ(driver.asked, (std::vector<std::optional<Time>>{at(1s), at(10s)}));
}

TEST(Loop, a_due_sleeper_cancelled_before_its_turn_never_runs) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup late(runtime.loop);
  auto canceller = [](Loop& loop, TaskGroup& group) -> Task<void> {
    co_await loop.sleep(1ms);
    group.cancel();
  };
  TaskGroup early(runtime.loop);
  early.spawn(canceller(runtime.loop, late));
  late.spawn(sleep_and_note(runtime.loop, 1ms, log, "too late"));
  runtime.loop.run(nap(runtime.loop, 2ms));
  EXPECT_EQ(log, Log{});
}

// A reference model: sleepers in the order of a multimap, some removed on the
// way. Deadlines are even and few, cancellations happen at odd times.
TEST(Loop, ten_thousand_timers_with_cancellations_match_a_reference_model) {
  constexpr std::uint64_t kTimers = 10'000;
  constexpr std::uint64_t kInstants = 1'500;
  struct Canceller {
    static Task<void> run(Loop& loop, std::vector<std::unique_ptr<TaskGroup>>& sleepers,
                          std::multimap<std::uint64_t, std::size_t>& victims) {
      for (const auto& [when, victim] : victims) {
        co_await loop.sleep_until(at(Duration(when)));
        sleepers[victim].reset();
      }
    }
    static Task<void> sleep(Loop& loop, std::uint64_t deadline, std::size_t name,
                            std::vector<std::size_t>& woken) {
      co_await loop.sleep_until(at(Duration(deadline)));
      woken.push_back(name);
    }
  };

  VirtualRuntime runtime;
  Random random(42);
  std::vector<std::unique_ptr<TaskGroup>> sleepers;
  std::vector<std::size_t> woken;
  std::multimap<std::uint64_t, std::size_t> model;    // deadline -> sleeper
  std::multimap<std::uint64_t, std::size_t> victims;  // time of cancellation -> sleeper
  std::vector<std::uint64_t> dies_at(kTimers, ~std::uint64_t{0});
  for (std::size_t i = 0; i < kTimers; ++i) {
    std::uint64_t deadline = 2 * random.below(kInstants);
    model.emplace(deadline, i);
    if (random.below(2) == 0) {
      dies_at[i] = 2 * random.below(kInstants) + 1;
      victims.emplace(dies_at[i], i);
    }
    sleepers.push_back(std::make_unique<TaskGroup>(runtime.loop));
    sleepers.back()->spawn(Canceller::sleep(runtime.loop, deadline, i, woken));
  }
  runtime.loop.run(Canceller::run(runtime.loop, sleepers, victims));
  runtime.loop.run(nap(runtime.loop, Duration(2 * kInstants)));

  std::vector<std::size_t> expected;
  for (const auto& [deadline, name] : model) {
    if (deadline < dies_at[name]) expected.push_back(name);
  }
  EXPECT_GT(expected.size(), kTimers / 2);
  EXPECT_LT(expected.size(), kTimers);
  EXPECT_EQ(woken, expected);
}

TEST(Loop, returns_when_its_task_is_done_although_others_could_run) {
  VirtualRuntime runtime;
  Log log;
  TaskGroup group(runtime.loop);
  group.spawn(sleep_and_note(runtime.loop, 10s, log, "later"));
  runtime.loop.run(nap(runtime.loop, 1s));
  EXPECT_EQ(runtime.loop.now(), at(1s));
  EXPECT_EQ(log, Log{});
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(log, Log{"later"});
}

TEST(Loop, counts_its_resumptions) {
  VirtualRuntime runtime;
  runtime.loop.run(pass(runtime.loop, 9));
  EXPECT_EQ(runtime.loop.events(), 10u) << "the start and nine turns";
}

TEST(LoopDeathTest, in_virtual_time_a_wait_that_cannot_end_is_a_bug) {
  VirtualRuntime runtime;
  auto waiter = [](Loop& loop) -> Task<void> {
    Event never(loop);
    co_await never.wait();
  };
  EXPECT_DEATH(runtime.loop.run(waiter(runtime.loop)),
               "deadlock: the main task waits for an event that cannot happen");
}

TEST(LoopDeathTest, running_a_loop_from_inside_one_of_its_tasks_is_a_bug) {
  VirtualRuntime runtime;
  auto nested = [](Loop& loop) -> Task<void> {
    loop.run(nap(loop, 1s));
    co_return;
  };
  EXPECT_DEATH(runtime.loop.run(nested(runtime.loop)), "a loop is run from inside itself");
}

TEST(LoopDeathTest, an_idle_group_does_not_hide_a_deadlock) {
  VirtualRuntime runtime;
  auto waiter = [](Loop& loop) -> Task<void> {
    Event never(loop);
    TaskGroup group(loop);
    group.spawn(nap(loop, 5s));
    co_await never.wait();
  };
  EXPECT_DEATH(runtime.loop.run(waiter(runtime.loop)), "deadlock");
}

TEST(LoopDeathTest, a_loop_destroyed_before_its_tasks_is_a_bug) {
  EXPECT_DEATH(
      {
        VirtualDriver driver(1);
        auto loop = std::make_unique<Loop>(driver);
        TaskGroup group(*loop);
        group.spawn(nap(*loop, 1s));
        loop.reset();
      },
      "a loop is destroyed before the tasks that use it");
}

}  // namespace
}  // namespace specgen
