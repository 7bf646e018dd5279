#pragma once
// Waiter: a suspended coroutine's entry in an intrusive list, either of an object it waits for or of
// the loop's ready list. It is stored in the coroutine's frame, so destroying the frame unlinks it:
// this is how cancellation deregisters a task from everything it awaits. WaitList is FIFO and owns
// nothing. Loop thread only; all operations are O(1) and allocate nothing.

#include <coroutine>
#include <cstdint>

#include "base/assert.h"

namespace specgen {

class WaitList;

class Waiter {
 public:
  Waiter() = default;
  // An awaiter may be moved until it is awaited, not after.
  Waiter(Waiter&& other) noexcept {
    SG_ASSERT(!other.linked(), "an awaiter is moved while it waits");
  }
  Waiter& operator=(Waiter&&) = delete;
  ~Waiter() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }

 private:
  friend class WaitList;
  friend class Loop;

  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
  std::uint64_t sequence_ = 0;  // order of suspension: breaks ties of timers, enters the trace hash

 protected:
  std::coroutine_handle<> handle_;
};

class WaitList {
 public:
  WaitList() { head_.previous_ = head_.next_ = &head_; }
  ~WaitList() {
    while (!empty()) head_.next_->unlink();
    head_.previous_ = head_.next_ = nullptr;
  }
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  Waiter& front() { return *head_.next_; }
  void push_back(Waiter& waiter) {
    SG_ASSERT(!waiter.linked(), "a waiter is in two lists");
    waiter.previous_ = head_.previous_;
    waiter.next_ = &head_;
    head_.previous_->next_ = &waiter;
    head_.previous_ = &waiter;
  }
  Waiter& pop_front() {
    Waiter& first = front();
    first.unlink();
    return first;
  }

 private:
  Waiter head_;
};

}  // namespace specgen
