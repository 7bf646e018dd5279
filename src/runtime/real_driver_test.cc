#include "runtime/real_driver.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
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

TEST(RealDriver, callbacks_of_many_threads_all_run_and_those_of_one_in_order) {
  constexpr int kThreads = 8;
  constexpr int kCallbacks = 5'000;
  RealRuntime runtime;
  Event all_here(runtime.loop);
  std::vector<std::vector<int>> arrived(kThreads);
  std::size_t total = 0;
  std::vector<std::thread> threads;
  for (std::size_t name = 0; name < kThreads; ++name) {
    threads.emplace_back([&, name] {
      for (int i = 0; i < kCallbacks; ++i) {
        runtime.driver.post([&, name, i] {
          arrived[name].push_back(i);
          if (++total == std::size_t{kThreads} * kCallbacks) all_here.set();
        });
      }
    });
  }
  runtime.loop.run(wait_for(all_here));
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int>& of_one : arrived) {
    EXPECT_EQ(of_one.size(), std::size_t{kCallbacks});
    EXPECT_TRUE(std::ranges::is_sorted(of_one));
  }
}

TEST(RealDriver, a_callback_runs_on_the_loop_s_thread) {
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

TEST(RealDriver, a_callback_may_post_another_which_runs_in_a_later_batch) {
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

TEST(RealDriver, callbacks_run_while_tasks_keep_the_loop_busy) {
  RealRuntime runtime;
  bool here = false;
  auto busy = [](Loop& loop, const bool& end) -> Task<void> {
    while (!end) co_await loop.yield();
  };
  runtime.driver.post([&] { here = true; });
  runtime.loop.run(busy(runtime.loop, here));
  EXPECT_TRUE(here);
}

TEST(RealDriver, a_callback_that_cancels_a_group_keeps_its_children_from_running) {
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

TEST(RealDriver, callbacks_that_never_ran_are_destroyed_with_the_driver) {
  Log log;
  {
    RealDriver driver(1);
    driver.post([at_end = LogOnDestroy(log, "callback")] {});
    EXPECT_EQ(log, Log{});
  }
  EXPECT_EQ(log, Log{"callback"});
}

TEST(RealDriver, sleepers_wake_in_order_and_not_early) {
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

// Posts a callback to the driver after a generous time, unless it is destroyed before: a wait that
// would never end fails a test instead of hanging it.
class Rescue {
 public:
  Rescue(RealDriver& driver, std::function<void()> callback)
      : thread_([this, &driver, callback = std::move(callback)] {
          std::unique_lock lock(mutex_);
          bool in_time = cancelled_.wait_for(lock, 10s, [this] { return done_; });
          if (!in_time) driver.post(callback);
        }) {}
  ~Rescue() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    cancelled_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable cancelled_;
  bool done_ = false;
  std::thread thread_;
};

TEST(RealDriver, a_deadline_that_has_passed_can_be_waited_for_again) {
  RealRuntime runtime;
  Event rescued(runtime.loop);
  Rescue rescue(runtime.driver, [&] { rescued.set(); });
  auto sleeper = [](Loop& loop, Event& its_rescue) -> Task<void> {
    Time deadline = loop.now() + 1ms;
    co_await loop.sleep_until(deadline);
    auto woken = co_await race(loop.sleep_until(deadline), its_rescue.wait());
    EXPECT_TRUE(woken.first()) << "the timer was not armed again";
  };
  runtime.loop.run(sleeper(runtime.loop, rescued));
}

TEST(RealDriver, a_cancelled_timer_does_not_delay_a_later_one) {
  RealRuntime runtime;
  auto runner = [](Loop& loop) -> Task<void> {
    for (int i = 0; i < 5; ++i) {
      // The timer is armed for an earlier time, then a later, then an earlier one again.
      (void)co_await race(loop.sleep(1ms), loop.sleep(3h));
      (void)co_await race(nap(loop, 200us), loop.sleep(Duration::max()));
      co_await loop.sleep(Duration::min());
    }
  };
  Time start = runtime.loop.now();
  runtime.loop.run(runner(runtime.loop));
  EXPECT_GE(runtime.loop.now() - start, 6ms);
}

TEST(RealDriver, the_same_seed_gives_the_same_numbers_and_no_seed_gives_others) {
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

Fd ready_eventfd() {
  return Fd(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
}

TEST(RealDriver, passes_a_handler_the_events_of_its_descriptor) {
  RealDriver driver(1);
  Fd fd = ready_eventfd();
  CountingHandler handler;
  ASSERT_TRUE(driver.add(fd.get(), EPOLLIN, handler).has_value());
  driver.poll();
  EXPECT_EQ(handler.calls, 1);
  EXPECT_EQ(handler.seen, std::uint32_t{EPOLLIN});
  driver.modify(fd.get(), EPOLLOUT);
  driver.poll();
  EXPECT_EQ(handler.seen, std::uint32_t{EPOLLIN | EPOLLOUT});
  driver.remove(fd.get());
  driver.poll();
  EXPECT_EQ(handler.calls, 2);
}

TEST(RealDriver, a_handler_removed_by_another_in_the_same_batch_is_not_called) {
  RealDriver driver(1);
  Fd fds[2] = {ready_eventfd(), ready_eventfd()};
  auto handlers = std::make_unique<std::array<std::unique_ptr<CountingHandler>, 2>>();
  int calls = 0;
  for (std::size_t i : {0, 1}) {
    (*handlers)[i] = std::make_unique<CountingHandler>();
    // The first to be called removes and frees the other.
    (*handlers)[i]->then = [&, i] {
      ++calls;
      driver.remove(fds[1 - i].get());
      (*handlers)[1 - i].reset();
    };
    ASSERT_TRUE(driver.add(fds[i].get(), EPOLLIN, *(*handlers)[i]).has_value());
  }
  driver.poll();
  EXPECT_EQ(calls, 1);
}

TEST(RealDriver, a_handler_may_remove_itself) {
  RealDriver driver(1);
  Fd fd = ready_eventfd();
  CountingHandler handler;
  handler.then = [&] { driver.remove(fd.get()); };
  ASSERT_TRUE(driver.add(fd.get(), EPOLLIN, handler).has_value());
  driver.poll();
  driver.poll();
  EXPECT_EQ(handler.calls, 1);
}

TEST(RealDriver, more_descriptors_than_fit_in_one_batch_are_all_served) {
  constexpr std::size_t kBells = 700;
  RealDriver driver(1);
  std::vector<Fd> fds;
  std::vector<CountingHandler> handlers(kBells);
  for (std::size_t i = 0; i < kBells; ++i) {
    fds.push_back(ready_eventfd());
    ASSERT_TRUE(driver.add(fds[i].get(), EPOLLIN | EPOLLET, handlers[i]).has_value());
  }
  for (int i = 0; i < 3; ++i) driver.poll();
  EXPECT_TRUE(std::ranges::all_of(handlers, [](const auto& h) { return h.calls == 1; }));
}

TEST(RealDriver, a_descriptor_that_epoll_cannot_watch_is_refused) {
  RealDriver driver(1);
  CountingHandler handler;
  EXPECT_EQ(driver.add(-1, EPOLLIN, handler).error().code, ErrorCode::system_call);
}

TEST(RealDriverDeathTest, removing_an_unregistered_descriptor_is_a_bug) {
  RealDriver driver(1);
  CountingHandler handler;
  EXPECT_DEATH(driver.remove(0), "the descriptor is not registered");
}

TEST(RealDriver, closes_its_descriptors) {
  std::size_t before = open_descriptors();
  {
    RealDriver driver(1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace specgen
