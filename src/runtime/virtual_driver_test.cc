#include "runtime/virtual_driver.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(VirtualDriver, jumps_to_the_deadline_and_never_back) {
  VirtualDriver driver(1);
  EXPECT_EQ(driver.now(), at(0ns));
  EXPECT_TRUE(driver.wait(at(3h)));
  EXPECT_EQ(driver.now(), at(3h));
  EXPECT_TRUE(driver.wait(at(1h)));
  EXPECT_EQ(driver.now(), at(3h));
}

TEST(VirtualDriver, reports_that_nothing_can_happen_without_a_deadline) {
  VirtualDriver driver(1);
  EXPECT_FALSE(driver.wait(std::nullopt));
  EXPECT_EQ(driver.now(), at(0ns));
}

TEST(VirtualDriver, wall_time_advances_from_a_fixed_date) {
  VirtualDriver driver(1, WallTime{5'000});
  EXPECT_EQ(driver.wall_now(), WallTime{5'000});
  driver.wait(at(2s));
  EXPECT_EQ(driver.wall_now(), WallTime{7'000});
}

TEST(VirtualDriver, a_jump_of_the_wall_clock_does_not_move_time) {
  VirtualDriver driver(1, WallTime{5'000});
  driver.wait(at(1s));
  driver.jump_wall_clock(-3600s);
  EXPECT_EQ(driver.wall_now(), WallTime{6'000 - 3'600'000});
  EXPECT_EQ(driver.now(), at(1s));
}

TEST(VirtualDriver, the_end_of_time_has_a_date) {
  VirtualDriver driver(1);
  driver.wait(Time::max());
  EXPECT_GT(driver.wall_now(), WallTime{1'767'225'600'000});
}

// A mix of sleeps, races, channels, groups, semaphores and cancellation. Every choice
// comes from the loop's random numbers; all arithmetic is on integers.
class Workload {
 public:
  explicit Workload(Loop& loop) : loop_(loop), jobs_(loop, 3), semaphore_(loop, 2), stop_(loop) {}

  Task<void> run() {
    TaskGroup workers(loop_);
    for (int i = 0; i < 4; ++i) workers.spawn(work());
    TaskGroup bystanders(loop_);
    for (int i = 0; i < 3; ++i) bystanders.spawn(tick());
    {
      TaskGroup producers(loop_);
      for (int i = 0; i < 5; ++i) producers.spawn(produce(i));
      (void)co_await producers.join();
    }
    jobs_.close();
    (void)co_await workers.join();
    stop_.set();
    bystanders.cancel();
    (void)co_await bystanders.join();
    loop_.trace(std::uint64_t{done_});
  }

 private:
  Duration a_while() { return Duration(loop_.random().below(40)); }

  Task<void> produce(int first) {
    for (int i = 0; i < 40; ++i) {
      auto sent = co_await race(jobs_.send(100 * first + i), loop_.sleep(a_while()));
      if (sent.second()) co_await loop_.yield();
      if (loop_.random().below(3) == 0) co_await loop_.sleep(a_while());
    }
  }

  Task<void> work() {
    while (auto job = co_await jobs_.receive()) {
      auto permit = co_await semaphore_.acquire();
      auto finished = co_await with_timeout(loop_, a_while(), compute(*job));
      if (finished) ++done_;
      loop_.trace(std::string_view(finished ? "in time" : "too late"));
    }
  }

  Task<int> compute(int job) {
    TaskGroup halves(loop_);
    halves.spawn(half(job));
    halves.spawn(half(job + 1));
    auto joined = co_await halves.join();
    loop_.trace(std::uint64_t{joined.has_value()});
    co_return job;
  }

  Task<Result<void>> half(int job) {
    co_await loop_.sleep(a_while());
    if (job % 7 == 0) co_return fail(ErrorCode::timeout, "a seventh");
    co_return Result<void>();
  }

  Task<void> tick() {
    while (true) {
      auto ticked = co_await race(stop_.wait(), loop_.sleep(a_while()));
      if (ticked.first()) co_return;
    }
  }

  Loop& loop_;
  Channel<int> jobs_;
  Semaphore semaphore_;
  Event stop_;
  std::uint64_t done_ = 0;
};

struct Trace {
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  Time end;
  friend bool operator==(const Trace&, const Trace&) = default;
};

Trace run_workload(std::uint64_t seed) {
  VirtualRuntime runtime(seed);
  Workload workload(runtime.loop);
  runtime.loop.run(workload.run());
  return {runtime.loop.trace_hash(), runtime.loop.events(), runtime.loop.now()};
}

TEST(TraceOfARun, is_the_same_for_the_same_seed) {
  Trace first = run_workload(7);
  EXPECT_GT(first.events, 1000u) << "the workload is too small to distinguish runs";
  EXPECT_EQ(first, run_workload(7));
}

TEST(TraceOfARun, differs_for_another_seed) {
  EXPECT_NE(run_workload(7).hash, run_workload(8).hash);
}

TEST(TraceOfARun, includes_traced_values) {
  auto hash_of = [](std::string_view word) {
    VirtualRuntime runtime;
    runtime.loop.trace(word);
    runtime.loop.run(pass(runtime.loop, 3));
    return runtime.loop.trace_hash();
  };
  EXPECT_EQ(hash_of("left"), hash_of("left"));
  EXPECT_NE(hash_of("left"), hash_of("right"));
}

TEST(TraceOfARun, distinguishes_runs_that_differ_only_in_time) {
  auto slept = [](Duration duration) {
    VirtualRuntime runtime;
    auto nap = [](Loop& loop, Duration its_duration) -> Task<void> {
      co_await loop.sleep(its_duration);
    };
    runtime.loop.run(nap(runtime.loop, duration));
    return runtime.loop.trace_hash();
  };
  EXPECT_NE(slept(1ns), slept(2ns));
}

// The same steps in every build: a change of the loop's order changes
// this number, and every recorded seed with it.
TEST(TraceOfARun, matches_the_recorded_value) {
  Trace trace = run_workload(2026);
  EXPECT_EQ(trace.events, 1084u);
  EXPECT_EQ(trace.end, at(860ns));
  EXPECT_EQ(trace.hash, 6674521258566475349u);
}

}  // namespace
}  // namespace specgen
