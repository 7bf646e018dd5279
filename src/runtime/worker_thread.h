#pragma once
// A thread for blocking calls (fsync, SQLite). Jobs run on it one at a time, in order, while the loop
// continues.
//
//   Result<void> done = co_await worker.run([bytes] { return write_file_durably("x", bytes); });
//
// Ownership: a job must own everything it uses.
// Cancellation: cancelling the awaiting task does not stop its job; the job runs to its end and its
// result is dropped on the loop's thread. The destructor blocks until all queued jobs have run.
// Threads: run() is called on the loop's thread. Signals are not delivered to the worker.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>

#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"

namespace specgen {

class WorkerThread {
 public:
  WorkerThread(Loop& loop, RealDriver& driver);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  template <class Job>
  Task<std::invoke_result_t<Job>> run(Job job);

 private:
  using Work = std::move_only_function<void()>;
  void enqueue(Work work);
  void work_until_stopped();

  Loop& loop_;
  RealDriver& driver_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

template <class Job>
Task<std::invoke_result_t<Job>> WorkerThread::run(Job job) {
  using T = std::invoke_result_t<Job>;
  static_assert(!std::is_void_v<T>, "a job returns a Result or another value");
  struct Answer {
    explicit Answer(Loop& loop) : ready(loop) {}
    std::optional<T> value;
    Event ready;
  };
  // Shared with the posted callback: the last of the two frees it, always on the loop's thread.
  auto answer = std::make_shared<Answer>(loop_);
  enqueue([&driver = driver_, answer, job = std::move(job)]() mutable {
    T value = job();
    driver.post([answer = std::move(answer), value = std::move(value)]() mutable {
      answer->value.emplace(std::move(value));
      answer->ready.set();
    });
  });
  co_await answer->ready.wait();
  co_return std::move(*answer->value);
}

}  // namespace specgen
