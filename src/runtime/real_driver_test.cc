#include "runtime/real_driver.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Task<void> wait_for(Event& event) {
  co_await event.wait();
}

TEST(RealDriver, letters_of_many_threads_all_arrive_and_those_of_one_in_order) {
  constexpr int kThreads = 8;
  constexpr int kLetters = 5'000;
  RealRuntime runtime;
  Event all_here(runtime.loop);
  std::vector<std::vector<int>> arrived(kThreads);
  std::size_t total = 0;
  std::vector<std::thread> threads;
  for (std::size_t name = 0; name < kThreads; ++name) {
    threads.emplace_back([&, name] {
      for (int i = 0; i < kLetters; ++i) {
        runtime.driver.post([&, name, i] {
          arrived[name].push_back(i);
          if (++total == std::size_t{kThreads} * kLetters) all_here.set();
        });
      }
    });
  }
  runtime.loop.run(wait_for(all_here));
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& of_one : arrived) {
    EXPECT_EQ(of_one.size(), std::size_t{kLetters});
    EXPECT_TRUE(std::ranges::is_sorted(of_one));
  }
}

TEST(RealDriver, a_letter_runs_on_the_loop_s_thread) {
  RealRuntime runtime;
  Event here(runtime.loop);
  std::thread::id ran_on;
  std::thread sender([&] {
    runtime.driver.post([&] {
      ran_on = std::this_thread::get_id();
      here.set();
    });
  });
  runtime.loop.run(wait_for(here));
  sender.join();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(RealDriver, a_letter_may_post_another_which_comes_in_a_later_round) {
  RealRuntime runtime;
  Event here(runtime.loop);
  Log log;
  runtime.driver.post([&] {
    runtime.driver.post([&] {
      log.push_back("second");
      here.set();
    });
    log.push_back("first");
  });
  runtime.loop.run(wait_for(here));
  EXPECT_EQ(log, (Log{"first", "second"}));
}

TEST(RealDriver, letters_come_through_while_tasks_keep_the_loop_busy) {
  RealRuntime runtime;
  bool here = false;
  auto busy = [](Loop& loop, const bool& end) -> Task<void> {
    while (!end) co_await loop.yield();
  };
  runtime.driver.post([&] { here = true; });
  runtime.loop.run(busy(runtime.loop, here));
  EXPECT_TRUE(here);
}

TEST(RealDriver, a_letter_that_cancels_a_group_keeps_its_children_from_running) {
  RealRuntime runtime;
  Log log;
  Event go(runtime.loop);
  Event done(runtime.loop);
  TaskGroup group(runtime.loop);
  auto child = [](Event& its_go, Log& its_log) -> Task<void> {
    co_await its_go.wait();
    its_log.push_back("ran");
  };
  group.spawn(child(go, log));
  runtime.loop.run(pass(runtime.loop, 2));
  runtime.driver.post([&] {
    go.set();
    group.cancel();
    done.set();
  });
  runtime.loop.run(wait_for(done));
  EXPECT_EQ(log, Log{});
}

TEST(RealDriver, letters_nobody_read_are_destroyed_with_the_driver) {
  Log log;
  {
    RealDriver driver(1);
    driver.post([farewell = Farewell(log, "letter")] {});
    EXPECT_EQ(log, Log{});
  }
  EXPECT_EQ(log, Log{"letter"});
}

TEST(RealDriver, sleepers_wake_in_order_and_none_too_early) {
  RealRuntime runtime;
  struct Sleeper {
    static Task<void> run(Loop& loop, Time deadline, std::vector<Time>& woken) {
      co_await loop.sleep_until(deadline);
      EXPECT_GE(loop.now(), deadline);
      woken.push_back(deadline);
    }
  };
  Time start = runtime.loop.now();
  std::vector<Time> woken;
  TaskGroup group(runtime.loop);
  for (int ms : {5, 1, 3, 0, 2, 4, -7}) {
    group.spawn(Sleeper::run(runtime.loop, start + std::chrono::milliseconds(ms), woken));
  }
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(woken.size(), 7u);
  EXPECT_TRUE(std::ranges::is_sorted(woken));
}

TEST(RealDriver, the_same_deadline_may_be_slept_to_again_when_it_has_passed) {
  RealRuntime runtime;
  auto sleeper = [](Loop& loop) -> Task<void> {
    Time deadline = loop.now() + 1ms;
    co_await loop.sleep_until(deadline);
    co_await loop.sleep_until(deadline);
  };
  runtime.loop.run(sleeper(runtime.loop));
}

TEST(RealDriver, a_timer_that_was_cancelled_does_not_hold_up_a_later_one) {
  RealRuntime runtime;
  auto runner = [](Loop& loop) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      // The clock is set for an earlier time, then a later, then an earlier one again.
      (void)co_await race(loop.sleep(1ms), loop.sleep(3h));
      (void)co_await race(nap(loop, 200us), loop.sleep(Duration::max()));
      co_await loop.sleep(Duration::min());
    }
  };
  Time start = runtime.loop.now();
  runtime.loop.run(runner(runtime.loop));
  EXPECT_GE(runtime.loop.now() - start, 6ms);
}

TEST(RealDriver, the_same_seed_gives_the_same_chance_and_none_gives_another) {
  RealDriver first(5);
  RealDriver second(5);
  EXPECT_EQ(first.random().next(), second.random().next());
  RealDriver free_one;
  RealDriver free_other;
  EXPECT_NE(free_one.random().next(), free_other.random().next());
}

class CountingHandler final : public FdHandler {
 public:
  void on_ready(std::uint32_t epoll_events) override {
    ++calls;
    seen |= epoll_events;
    if (then) then();
  }
  int calls = 0;
  std::uint32_t seen = 0;
  std::function<void()> then;
};

Fd ringing_bell() {
  return Fd(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
}

TEST(RealDriver, tells_a_handler_what_its_descriptor_is_ready_for) {
  RealDriver driver(1);
  Fd bell = ringing_bell();
  CountingHandler handler;
  ASSERT_TRUE(driver.add(bell.get(), EPOLLIN, handler).has_value());
  driver.poll();
  EXPECT_EQ(handler.calls, 1);
  EXPECT_EQ(handler.seen, std::uint32_t{EPOLLIN});
  driver.modify(bell.get(), EPOLLOUT);
  driver.poll();
  EXPECT_EQ(handler.seen, std::uint32_t{EPOLLIN | EPOLLOUT});
  driver.remove(bell.get());
  driver.poll();
  EXPECT_EQ(handler.calls, 2);
}

TEST(RealDriver, a_handler_removed_by_another_in_the_same_batch_is_not_called) {
  RealDriver driver(1);
  Fd bells[2] = {ringing_bell(), ringing_bell()};
  auto handlers = std::make_unique<std::array<std::unique_ptr<CountingHandler>, 2>>();
  int calls = 0;
  for (std::size_t i : {0, 1}) {
    (*handlers)[i] = std::make_unique<CountingHandler>();
    // Whichever comes first removes and frees the other.
    (*handlers)[i]->then = [&, i] {
      ++calls;
      driver.remove(bells[1 - i].get());
      (*handlers)[1 - i].reset();
    };
    ASSERT_TRUE(driver.add(bells[i].get(), EPOLLIN, *(*handlers)[i]).has_value());
  }
  driver.poll();
  EXPECT_EQ(calls, 1);
}

TEST(RealDriver, a_handler_may_remove_itself) {
  RealDriver driver(1);
  Fd bell = ringing_bell();
  CountingHandler handler;
  handler.then = [&] { driver.remove(bell.get()); };
  ASSERT_TRUE(driver.add(bell.get(), EPOLLIN, handler).has_value());
  driver.poll();
  driver.poll();
  EXPECT_EQ(handler.calls, 1);
}

TEST(RealDriver, more_descriptors_than_one_batch_holds_are_all_served) {
  constexpr std::size_t kBells = 700;
  RealDriver driver(1);
  std::vector<Fd> bells;
  std::vector<CountingHandler> handlers(kBells);
  for (std::size_t i = 0; i < kBells; ++i) {
    bells.push_back(ringing_bell());
    ASSERT_TRUE(driver.add(bells[i].get(), EPOLLIN | EPOLLET, handlers[i]).has_value());
  }
  for (int i = 0; i < 3; ++i) driver.poll();
  EXPECT_TRUE(std::ranges::all_of(handlers, [](const auto& h) { return h.calls == 1; }));
}

TEST(RealDriver, a_descriptor_that_cannot_wait_is_refused) {
  RealDriver driver(1);
  CountingHandler handler;
  EXPECT_EQ(driver.add(-1, EPOLLIN, handler).error().code, ErrorCode::system_call);
}

TEST(RealDriverDeathTest, removing_what_was_never_added_is_a_bug) {
  RealDriver driver(1);
  CountingHandler handler;
  EXPECT_DEATH(driver.remove(0), "epoll does not know the descriptor");
}

TEST(RealDriver, leaves_no_descriptor_behind) {
  std::size_t before = open_descriptors();
  {
    RealDriver driver(1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace specgen
