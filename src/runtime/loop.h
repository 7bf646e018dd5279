#pragma once
// The one thread that thinks. A Loop resumes coroutines one at a time, in the order in which they
// became ready; nothing is ever resumed from inside something else, so code between two co_awaits
// is atomic. Other threads reach it through RealDriver::post() alone.
//
//   VirtualDriver driver(seed);
//   Loop loop(driver);
//   int answer = loop.run(think(loop));
//
// Every resumption goes into trace_hash(): two runs with the same hash took the same steps.

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
  Yield yield();  // lets everything else that is ready go first

  // Runs until the task is done, and returns its result. In virtual time it is a bug if the task
  // waits for something that nobody will do.
  template <class T>
  T run(Task<T> task) {
    SG_ASSERT(task.handle_, "a task that was moved away is run");
    drive(task.handle_);
    return task.handle_.promise().take();
  }

  // For those who build awaitables: `waiter` will be resumed after everything that is ready
  // already.
  void make_ready(Waiter& waiter) { ready_.push_back(waiter); }
  void suspend(Waiter& waiter, std::coroutine_handle<> handle) {
    waiter.handle_ = handle;
    waiter.sequence_ = ++last_sequence_;
  }

  std::uint64_t events() const { return events_; }  // resumptions so far
  std::uint64_t trace_hash() const { return trace_.value(); }
  template <class Word>
  void trace(const Word& word) {  // what else two equal runs must agree on
    trace_.mix(word);
  }

 private:
  friend class TaskGroup;

  void drive(std::coroutine_handle<> task);
  void run_ready();
  void fire_due_timers();
  void bury_the_dead();
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
  std::vector<Timer> timers_;  // a 4-ary heap: shallower than a binary one, kinder to the cache
  std::vector<TaskGroup*> mourning_;  // groups with children to destroy before anything else runs
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
  bool beyond_time = duration > Time::max() - start;
  return Sleep(*this, beyond_time ? Time::max() : start + duration);
}
inline Loop::Yield Loop::yield() {
  return Yield(*this);
}

}  // namespace specgen
