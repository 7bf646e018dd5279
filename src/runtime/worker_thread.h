#pragma once
// A thread for what blocks (fsync, SQLite): jobs run there one after another, the loop goes on
// meanwhile.
//
//   Result<void> done = co_await worker.run([bytes] { return write_file_durably("x", bytes); });
//
// A job owns what it uses. Cancelling the task that waits does not stop the job: it runs to its end
// and its result is dropped. The destructor waits for the jobs that were given.

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
  void give(Work work);
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
  static_assert(!std::is_void_v<T>, "a job returns a Result, or another value");
  struct Answer {
    explicit Answer(Loop& loop) : ready(loop) {}
    std::optional<T> value;
    Event ready;
  };
  // Shared with the letter: whoever of the two ends last frees it, always on the loop's thread.
  auto answer = std::make_shared<Answer>(loop_);
  give([&driver = driver_, answer, job = std::move(job)]() mutable {
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
