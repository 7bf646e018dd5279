#include "runtime/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<int> number_after(Loop& loop, Duration duration, int value) {
  co_await loop.sleep(duration);
  co_return value;
}

Task<int> number_now(int value) {
  co_return value;
}

Task<int> note_and_return(Log& log, std::string name, int value) {
  log.push_back(std::move(name));
  co_return value;
}

TEST(Race, the_first_to_finish_wins_at_any_position) {
  VirtualRuntime runtime;
  auto runner = [](Loop& loop) -> Task<void> {
    auto left = co_await race(number_after(loop, 1s, 1), number_after(loop, 2s, 2));
    EXPECT_EQ(left.winner(), 0u);
    EXPECT_EQ(*left.first(), 1);
    EXPECT_EQ(left.second(), nullptr);
    auto right = co_await race(number_after(loop, 2s, 1), number_after(loop, 1s, 2));
    EXPECT_EQ(right.winner(), 1u);
    EXPECT_EQ(right.first(), nullptr);
    EXPECT_EQ(*right.second(), 2);
    EXPECT_EQ(loop.now(), at(2s));
  };
  runtime.loop.run(runner(runtime.loop));
}

TEST(Race, may_have_more_than_two_branches) {
  VirtualRuntime runtime;
  auto runner = [](Loop& loop) -> Task<std::size_t> {
    auto outcome = co_await race(loop.sleep(4s), number_after(loop, 3s, 1), loop.sleep(1s),
                                 number_after(loop, 2s, 2));
    EXPECT_NE(outcome.template get<2>(), nullptr);
    co_return outcome.winner();
  };
  EXPECT_EQ(runtime.loop.run(runner(runtime.loop)), 2u);
}

TEST(Race, losers_are_destroyed_before_the_awaiting_task_resumes) {
  VirtualRuntime runtime;
  Log log;
  auto runner = [](Loop& loop, Log& its_log) -> Task<void> {
    auto outcome = co_await race(run_logged(loop, 9s, its_log, "loser"), loop.sleep(1s),
                                 run_logged(loop, 8s, its_log, "other loser"));
    its_log.push_back("resumes");
    co_await loop.sleep(20s);
    EXPECT_EQ(outcome.winner(), 1u);
  };
  runtime.loop.run(runner(runtime.loop, log));
  EXPECT_EQ(log, (Log{"loser began", "other loser began", "loser destroyed",
                      "other loser destroyed", "resumes"}));
}

TEST(Race, the_winner_s_frame_is_freed_too_before_the_awaiting_task_resumes) {
  VirtualRuntime runtime;
  Log log;
  auto winner = [](Loop& loop, LogOnDestroy) -> Task<int> {
    co_await loop.sleep(1s);
    co_return 1;
  };
  auto runner = [](Loop& loop, Task<int> first, Log& its_log) -> Task<void> {
    (void)co_await race(std::move(first), loop.sleep(9s));
    its_log.push_back("resumes");
  };
  runtime.loop.run(
      runner(runtime.loop, winner(runtime.loop, LogOnDestroy(log, "winner freed")), log));
  EXPECT_EQ(log, (Log{"winner freed", "resumes"}));
}

TEST(Race, a_branch_that_is_done_at_once_wins_and_later_ones_never_start) {
  VirtualRuntime runtime;
  Log log;
  auto runner = [](Loop& loop, Log& its_log) -> Task<void> {
    auto outcome =
        co_await race(run_logged(loop, 9s, its_log, "earlier"),
                      note_and_return(its_log, "at once", 5), note_and_return(its_log, "later", 6));
    EXPECT_EQ(outcome.winner(), 1u);
    EXPECT_EQ(*outcome.second(), 5);
    its_log.push_back("resumes");
  };
  runtime.loop.run(runner(runtime.loop, log));
  EXPECT_EQ(log, (Log{"earlier began", "at once", "earlier destroyed", "resumes"}));
  EXPECT_EQ(runtime.loop.events(), 1u);
}

TEST(Race, decided_at_once_many_times_does_not_grow_the_stack) {
  VirtualRuntime runtime;
  auto runner = [](Loop& loop) -> Task<std::int64_t> {
    std::int64_t total = 0;
    for (int i = 0; i < 300'000; ++i) {
      auto outcome = co_await race(number_now(1), loop.sleep(1s));
      total += *outcome.first();
    }
    co_return total;
  };
  EXPECT_EQ(runtime.loop.run(runner(runtime.loop)), 300'000);
}

TEST(Race, results_may_be_of_any_type) {
  VirtualRuntime runtime;
  auto owner = [](Loop& loop) -> Task<std::unique_ptr<int>> {
    co_await loop.sleep(1s);
    co_return std::make_unique<int>(3);
  };
  auto runner = [](Loop& loop, auto make) -> Task<void> {
    auto moved = co_await race(make(loop), loop.sleep(2s));
    std::unique_ptr<int> value = std::move(*moved.first());
    EXPECT_EQ(*value, 3);
    auto nothing = co_await race(make(loop), nap(loop, 0s));
    EXPECT_NE(nothing.second(), nullptr);
    EXPECT_EQ(nothing.first(), nullptr);
    auto same = co_await race(make(loop), make(loop));
    EXPECT_EQ(same.winner(), 0u) << "of equals the first";
    EXPECT_EQ(**same.first(), 3);
  };
  runtime.loop.run(runner(runtime.loop, owner));
}

TEST(Race, an_unused_result_is_destroyed_once) {
  VirtualRuntime runtime;
  Log log;
  auto make = [](Log& its_log) -> Task<LogOnDestroy> { co_return LogOnDestroy(its_log, "result"); };
  auto runner = [](Loop& loop, Task<LogOnDestroy> task) -> Task<void> {
    (void)co_await race(loop.sleep(1s), std::move(task));
    co_await loop.yield();
  };
  runtime.loop.run(runner(runtime.loop, make(log)));
  EXPECT_EQ(log, Log{"result"});
}

TEST(Race, races_may_be_nested) {
  VirtualRuntime runtime;
  Log log;
  auto runner = [](Loop& loop, Log& its_log) -> Task<void> {
    auto inner_wins = co_await race(
        race(run_logged(loop, 9s, its_log, "a"), number_after(loop, 1s, 7)), loop.sleep(5s));
    EXPECT_EQ(inner_wins.winner(), 0u);
    EXPECT_EQ(*inner_wins.first()->second(), 7);
    auto outer_wins = co_await race(race(run_logged(loop, 9s, its_log, "b"),
                                         race(loop.sleep(8s), run_logged(loop, 7s, its_log, "c"))),
                                    loop.sleep(1s));
    EXPECT_EQ(outer_wins.winner(), 1u);
    EXPECT_EQ(its_log.size(), 6u) << "all losers are gone, at every level";
  };
  runtime.loop.run(runner(runtime.loop, log));
  std::ranges::sort(log);
  EXPECT_EQ(log,
            (Log{"a began", "a destroyed", "b began", "b destroyed", "c began", "c destroyed"}));
}

TEST(Race, destroying_the_awaiting_task_destroys_all_branches) {
  VirtualRuntime runtime;
  Log log;
  auto runner = [](Loop& loop, Log& its_log) -> Task<void> {
    (void)co_await race(run_logged(loop, 9s, its_log, "a"), run_logged(loop, 8s, its_log, "b"));
    its_log.push_back("resumes");
  };
  {
    TaskGroup group(runtime.loop);
    group.spawn(runner(runtime.loop, log));
    runtime.loop.run(nap(runtime.loop, 1s));
  }
  runtime.loop.run(nap(runtime.loop, 20s));
  std::ranges::sort(log);
  EXPECT_EQ(log, (Log{"a began", "a destroyed", "b began", "b destroyed"}));
}

TEST(Race, destroying_the_awaiting_task_after_a_branch_was_woken_is_safe) {
  VirtualRuntime runtime;
  Log log;
  Channel<int> channel(runtime.loop, 1);
  auto runner = [](Loop& loop, Channel<int>& its_channel, Log& its_log) -> Task<void> {
    (void)co_await race(its_channel.receive(), loop.sleep(9s));
    its_log.push_back("resumes");
  };
  {
    TaskGroup group(runtime.loop);
    group.spawn(runner(runtime.loop, channel, log));
    runtime.loop.run(nap(runtime.loop, 1s));
    EXPECT_TRUE(channel.try_send(3));
  }
  runtime.loop.run(nap(runtime.loop, 20s));
  EXPECT_EQ(log, Log{});
  EXPECT_EQ(channel.try_receive(), 3);
}

// Both branches are ready at one instant, in both orders.
TEST(Race, an_item_stays_in_the_channel_when_the_timer_wins_at_the_same_instant) {
  VirtualRuntime runtime;
  Channel<int> channel(runtime.loop, 1);
  auto sender = [](Loop& loop, Channel<int>& its_channel) -> Task<void> {
    co_await loop.sleep_until(at(1s));  // registered after the timer of the race below
    EXPECT_TRUE(its_channel.try_send(3));
  };
  auto runner = [](Loop& loop, Channel<int>& its_channel) -> Task<std::size_t> {
    auto outcome = co_await race(its_channel.receive(), loop.sleep_until(at(1s)));
    co_return outcome.winner();
  };
  auto both = [](Loop& loop, Channel<int>& its_channel, auto run, auto send) -> Task<void> {
    TaskGroup group(loop);
    auto receiver = [](Task<std::size_t> racing) -> Task<void> {
      EXPECT_EQ(co_await std::move(racing), 1u);
    };
    group.spawn(receiver(run(loop, its_channel)));
    group.spawn(send(loop, its_channel));
    (void)co_await group.join();
  };
  runtime.loop.run(both(runtime.loop, channel, runner, sender));
  EXPECT_EQ(channel.try_receive(), 3);
}

TEST(Race, an_item_is_delivered_when_it_beats_the_timer_at_the_same_instant) {
  VirtualRuntime runtime;
  Channel<int> channel(runtime.loop, 1);
  auto runner = [](Loop& loop, Channel<int>& its_channel) -> Task<void> {
    auto outcome = co_await race(loop.sleep(0s), its_channel.receive());
    EXPECT_EQ(outcome.winner(), 1u);
    EXPECT_EQ(*outcome.second(), 3);
  };
  auto sender = [](Channel<int>& its_channel) -> Task<void> {
    EXPECT_TRUE(its_channel.try_send(3));  // the receiver is ready before the timer fires
    co_return;
  };
  TaskGroup group(runtime.loop);
  group.spawn(runner(runtime.loop, channel));
  group.spawn(sender(channel));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(channel.size(), 0u);
}

TEST(Race, two_channels_ready_at_one_instant_lose_nothing) {
  VirtualRuntime runtime;
  Channel<int> left(runtime.loop, 1);
  Channel<int> right(runtime.loop, 1);
  auto runner = [](Channel<int>& a, Channel<int>& b) -> Task<void> {
    auto outcome = co_await race(a.receive(), b.receive());
    EXPECT_EQ(outcome.winner(), 1u) << "the one that was sent first";
    EXPECT_EQ(*outcome.second(), 2);
  };
  TaskGroup group(runtime.loop);
  group.spawn(runner(left, right));
  runtime.loop.run(pass(runtime.loop, 2));
  EXPECT_TRUE(right.try_send(2));
  EXPECT_TRUE(left.try_send(1));
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(left.try_receive(), 1);
  EXPECT_EQ(right.try_receive(), std::nullopt);
}

TEST(Race, a_permit_that_was_won_belongs_to_the_result) {
  VirtualRuntime runtime;
  Semaphore semaphore(runtime.loop, 1);
  auto runner = [](Loop& loop, Semaphore& its_semaphore) -> Task<void> {
    {
      auto outcome = co_await race(its_semaphore.acquire(), loop.sleep(1s));
      EXPECT_NE(outcome.first(), nullptr);
      EXPECT_EQ(its_semaphore.free(), 0u);
      auto other = co_await race(its_semaphore.acquire(), loop.sleep(1s));
      EXPECT_EQ(other.first(), nullptr);
    }
    EXPECT_EQ(its_semaphore.free(), 1u);
  };
  runtime.loop.run(runner(runtime.loop, semaphore));
}

TEST(WithTimeout, returns_the_result_in_time) {
  VirtualRuntime runtime;
  Result<int> number =
      runtime.loop.run(with_timeout(runtime.loop, 2s, number_after(runtime.loop, 1s, 4)));
  EXPECT_EQ(number.value(), 4);
  EXPECT_EQ(runtime.loop.now(), at(1s));
  EXPECT_TRUE(runtime.loop.run(with_timeout(runtime.loop, 2s, nap(runtime.loop, 1s))).has_value());
}

TEST(WithTimeout, a_timeout_cancels_and_names_the_operation_and_its_limit) {
  VirtualRuntime runtime;
  Log log;
  Result<void> late = runtime.loop.run(
      with_timeout(runtime.loop, 2s, run_logged(runtime.loop, 3s, log, "task"), "the compiler"));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  EXPECT_EQ(late.error().context, "the compiler: the limit is 2.00 s");
  EXPECT_EQ(log, (Log{"task began", "task destroyed"}));
  EXPECT_EQ(runtime.loop.now(), at(2s));
  Result<int> nameless =
      runtime.loop.run(with_timeout(runtime.loop, 1s, number_after(runtime.loop, 3s, 4)));
  EXPECT_EQ(nameless.error().context, "the limit is 1.00 s");
}

TEST(WithTimeout, a_result_keeps_its_type_and_its_own_error) {
  VirtualRuntime runtime;
  auto failing = []() -> Task<Result<int>> { co_return fail(ErrorCode::disk_full, "its own"); };
  auto fine = []() -> Task<Result<void>> { co_return Result<void>(); };
  auto moved = []() -> Task<Result<std::unique_ptr<int>>> { co_return std::make_unique<int>(3); };
  Result<int> own = runtime.loop.run(with_timeout(runtime.loop, 1s, failing()));
  EXPECT_EQ(own.error().code, ErrorCode::disk_full);
  Result<void> nothing = runtime.loop.run(with_timeout(runtime.loop, 1s, fine()));
  EXPECT_TRUE(nothing.has_value());
  Result<std::unique_ptr<int>> owned = runtime.loop.run(with_timeout(runtime.loop, 1s, moved()));
  EXPECT_EQ(*owned.value(), 3);
}

TEST(WithTimeout, a_limit_of_zero_allows_only_what_is_ready) {
  VirtualRuntime runtime;
  EXPECT_EQ(runtime.loop.run(with_timeout(runtime.loop, 0s, number_now(1))).value(), 1);
  EXPECT_FALSE(
      runtime.loop.run(with_timeout(runtime.loop, -1s, nap(runtime.loop, 1s))).has_value());
  EXPECT_TRUE(runtime.loop.run(with_timeout(runtime.loop, Duration::max(), nap(runtime.loop, 1s)))
                  .has_value());
  EXPECT_EQ(runtime.loop.now(), at(1s));
}

TEST(WithTimeout, the_task_wins_a_tie_if_its_timer_is_older) {
  VirtualRuntime runtime;
  EXPECT_TRUE(runtime.loop.run(with_timeout(runtime.loop, 1s, nap(runtime.loop, 1s))).has_value());
}

}  // namespace
}  // namespace specgen
