#pragma once
// A thread with a loop of its own, for rooms that serve more bytes than one thread can copy. What runs there shares
// nothing with other loops but what says that it may be shared.
//
//   LoopThread thread([&](Loop& loop, RealDriver& driver) { return serve(loop, driver, store); });
//
// The task is cancelled on its own thread when the LoopThread is stopped or destroyed, which waits for that.

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

  // Not from its own thread. Letters may still be posted afterwards; nobody reads them.
  void stop();

  // From any thread: runs on this one's, between two tasks. It must be short.
  void post(std::move_only_function<void()> letter) { driver_.post(std::move(letter)); }

 private:
  RealDriver driver_;
  Loop loop_;
  Event stopped_;
  std::thread thread_;
};

}  // namespace specgen
