#pragma once
// The event loop: single-threaded and deterministic. It resumes coroutines one at a time, in the
// order in which they became ready, and never from inside another coroutine. Code between two
// co_awaits is therefore atomic and needs no locks.
//
//   VirtualDriver driver(seed);
//   Loop loop(driver);
//   int answer = loop.run(compute(loop));
//
// Threads: everything here belongs to the thread that calls run(). Other threads reach it through
// RealDriver::post() only.
// Lifetime: the Driver outlives the Loop; the Loop outlives all tasks and awaitables that use it.
// Cost: a resumption takes no allocation and no system call; a sleep is O(log n) to start and cancel.
// Every resumption enters trace_hash(): two runs with equal hashes took the same steps.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/units.h"
#include "runtime/driver.h"
#include "runtime/task.h"
#include "runtime/waiter.h"

namespace specgen {

class TaskGroup;

class Loop {
 public:
  class Sleep;
  class Yield;

  explicit Loop(Driver& driver) : driver_(driver) {}
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Time now() const { return driver_.now(); }
  WallTime wall_now() const { return driver_.wall_now(); }
  Random& random() { return driver_.random(); }

  Sleep sleep(Duration duration);
  Sleep sleep_until(Time deadline);
  Yield yield();  // resumes after everything else that is ready now

  // Runs until the task is done and returns its result. Other tasks (children of a TaskGroup) make
  // progress only while run() is active. In virtual time a task that can never be resumed is a
  // deadlock, which is an assertion failure.
  template <class T>
  T run(Task<T> task) {
    SG_ASSERT(task.handle_, "a moved-from task is run");
    drive(task.handle_);
    return task.handle_.promise().take();
  }

  // For implementers of awaitables. suspend() registers the coroutine; make_ready() queues it behind
  // everything that is ready already.
  void make_ready(Waiter& waiter) { ready_.push_back(waiter); }
  void suspend(Waiter& waiter, std::coroutine_handle<> handle) {
    waiter.handle_ = handle;
    waiter.sequence_ = ++last_sequence_;
  }

  std::uint64_t events() const { return events_; }  // resumptions so far
  std::uint64_t trace_hash() const { return trace_.value(); }
  template <class Value>
  void trace(const Value& value) {  // adds a value that equal runs must agree on
    trace_.mix(value);
  }

 private:
  friend class TaskGroup;

  void drive(std::coroutine_handle<> task);
  void run_ready();
  void fire_due_timers();
  void destroy_ended_children();
  void add_timer(Sleep& sleep);
  void remove_timer(std::size_t position);
  void sift_up(std::size_t position);
  void sift_down(std::size_t position);
  bool timers_are_a_heap() const;

  struct Timer {
    Time deadline;
    std::uint64_t sequence;
    Sleep* sleep;
    bool before(const Timer& other) const {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };

  Driver& driver_;
  WaitList ready_;
  std::vector<Timer> timers_;  // a 4-ary heap: shallower than a binary one, fewer cache misses
  std::vector<TaskGroup*>
      to_clean_;  // groups with ended children, destroyed before the next resumption
  bool running_ = false;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t events_ = 0;
  TraceHash trace_;
};

class Loop::Yield : public Waiter {
 public:
  explicit Yield(Loop& loop) : loop_(loop) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    loop_.suspend(*this, handle);
    loop_.make_ready(*this);
  }
  void await_resume() const {}

 private:
  Loop& loop_;
};

class Loop::Sleep : public Waiter {
 public:
  Sleep(Loop& loop, Time deadline) : loop_(loop), deadline_(deadline) {}
  Sleep(Sleep&& other) noexcept = default;
  ~Sleep() {
    if (position_ != kNoTimer) loop_.remove_timer(position_);
  }
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    loop_.suspend(*this, handle);
    loop_.add_timer(*this);
  }
  void await_resume() const {}

 private:
  friend class Loop;
  static constexpr std::size_t kNoTimer = ~std::size_t{0};

  Loop& loop_;
  Time deadline_;
  std::size_t position_ = kNoTimer;  // in the heap
};

inline Loop::Sleep Loop::sleep_until(Time deadline) {
  return Sleep(*this, deadline);
}
inline Loop::Sleep Loop::sleep(Duration duration) {
  Time start = now();
  bool overflows = duration > Time::max() - start;
  return Sleep(*this, overflows ? Time::max() : start + duration);
}
inline Loop::Yield Loop::yield() {
  return Yield(*this);
}

}  // namespace specgen
