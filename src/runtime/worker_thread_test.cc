#include "runtime/worker_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <future>
#include <memory>

#include "base/error.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

TEST(WorkerThread, a_result_returns_to_the_task_that_awaits_it) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  EXPECT_EQ(runtime.loop.run(worker.run([] { return 6 * 7; })), 42);
  auto moved = runtime.loop.run(worker.run([] { return std::make_unique<int>(3); }));
  EXPECT_EQ(*moved, 3);
  Result<int> failed =
      runtime.loop.run(worker.run([]() -> Result<int> { return fail(ErrorCode::disk_full, "x"); }));
  EXPECT_EQ(failed.error().code, ErrorCode::disk_full);
}

TEST(WorkerThread, a_job_runs_on_another_thread_and_may_own_move_only_values) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  auto owned = std::make_unique<int>(5);
  auto job = [owned = std::move(owned)] { return std::pair(*owned, std::this_thread::get_id()); };
  auto [value, thread] = runtime.loop.run(worker.run(std::move(job)));
  EXPECT_EQ(value, 5);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(WorkerThread, jobs_run_one_at_a_time_in_order) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  std::vector<int> ran;       // by the worker alone
  std::vector<int> answered;  // by the loop alone
  struct Asker {
    static Task<void> ask(WorkerThread& its_worker, int name, std::vector<int>& its_ran,
                          std::vector<int>& its_answered) {
      its_answered.push_back(co_await its_worker.run([name, &its_ran] {
        its_ran.push_back(name);
        return name;
      }));
    }
  };
  TaskGroup group(runtime.loop);
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) {
    group.spawn(Asker::ask(worker, i, ran, answered));
    expected.push_back(i);
  }
  runtime.loop.run(group.join()).value();
  EXPECT_EQ(ran, expected);
  EXPECT_EQ(answered, expected);
}

TEST(WorkerThread, the_loop_continues_while_a_job_blocks) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  std::promise<int> from_the_loop;
  auto opener = [](Loop& loop, std::promise<int>& promise) -> Task<void> {
    co_await loop.yield();
    promise.set_value(8);
  };
  TaskGroup group(runtime.loop);
  group.spawn(opener(runtime.loop, from_the_loop));
  // The job ends only if the loop runs the task above meanwhile.
  EXPECT_EQ(runtime.loop.run(worker.run([&] { return from_the_loop.get_future().get(); })), 8);
}

TEST(WorkerThread, a_job_whose_waiter_is_cancelled_still_runs_and_its_result_is_dropped) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  std::promise<void> begun;
  std::promise<void> gate;
  auto waiter = [](WorkerThread& its_worker, std::promise<void>& its_begun,
                   std::promise<void>& its_gate, bool& its_ended) -> Task<void> {
    (void)co_await its_worker.run([&its_begun, &its_gate, &its_ended] {
      its_begun.set_value();
      its_gate.get_future().wait();
      its_ended = true;
      return std::make_unique<int>(1);
    });
    ADD_FAILURE() << "the waiter was cancelled";
  };
  bool ended = false;
  {
    TaskGroup group(runtime.loop);
    group.spawn(waiter(worker, begun, gate, ended));
    runtime.loop.run(pass(runtime.loop, 2));
    begun.get_future().wait();
  }
  gate.set_value();
  EXPECT_TRUE(runtime.loop.run(worker.run([&ended] { return ended; })));
}

TEST(WorkerThread, a_waiter_cancelled_after_the_answer_arrived_drops_it) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  std::promise<void> gate;
  auto waiter = [](WorkerThread& its_worker, std::promise<void>& its_gate,
                   Log& its_log) -> Task<void> {
    (void)co_await its_worker.run([&its_gate, &its_log] {
      its_gate.get_future().wait();
      return LogOnDestroy(its_log, "result");
    });
    its_log.push_back("went on");
  };
  Log log;
  {
    TaskGroup group(runtime.loop);
    group.spawn(waiter(worker, gate, log));
    runtime.loop.run(pass(runtime.loop, 2));
    gate.set_value();
    runtime.driver.wait(std::nullopt);  // the callback: the waiter is woken, but not yet resumed
  }
  EXPECT_EQ(log, Log{"result"});
}

TEST(WorkerThread, the_destructor_waits_for_every_queued_job) {
  RealRuntime runtime;
  std::promise<void> gate;
  int ran = 0;
  struct Waiter {
    static Task<void> run(WorkerThread& its_worker, std::shared_future<void> its_gate,
                          int& its_ran) {
      (void)co_await its_worker.run([its_gate, &its_ran] {
        its_gate.wait();
        return ++its_ran;
      });
    }
  };
  {
    WorkerThread worker(runtime.loop, runtime.driver);
    TaskGroup group(runtime.loop);
    std::shared_future<void> opened = gate.get_future().share();
    for (int i = 0; i < 20; ++i) group.spawn(Waiter::run(worker, opened, ran));
    runtime.loop.run(pass(runtime.loop, 2));
    gate.set_value();
  }
  EXPECT_EQ(ran, 20);
}

TEST(WorkerThread, leaves_signals_to_the_loop_s_thread) {
  RealRuntime runtime;
  WorkerThread worker(runtime.loop, runtime.driver);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_FALSE(sigismember(&ours, SIGINT));
  EXPECT_TRUE(runtime.loop.run(worker.run([] {
    sigset_t its;
    pthread_sigmask(SIG_SETMASK, nullptr, &its);
    return sigismember(&its, SIGINT) == 1 && sigismember(&its, SIGTERM) == 1;
  })));
}

}  // namespace
}  // namespace specgen
