#pragma once
// A thread with its own Loop, for services that copy more bytes than one thread can (the KV server).
//
//   LoopThread thread([&](Loop& loop, RealDriver& driver) { return serve(loop, driver, store); });
//
// Threads: its task shares only thread-safe objects with other loops.
// Cancellation: stop() and the destructor cancel the task on its own thread, and block until that thread has ended.
// A task that returns by itself leaves the thread waiting for stop().

#include <functional>
#include <memory>
#include <thread>

#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"
#include "runtime/task.h"

namespace specgen {

class LoopThread {
 public:
  using Work = std::function<Task<void>(Loop&, RealDriver&)>;

  explicit LoopThread(Work work);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Not from its own thread. Callbacks posted afterwards never run.
  void stop();

  // From any thread: see RealDriver::post().
  void post(std::move_only_function<void()> callback) { driver_.post(std::move(callback)); }

 private:
  RealDriver driver_;
  Loop loop_;
  Event stopped_;
  std::thread thread_;
};

}  // namespace specgen
