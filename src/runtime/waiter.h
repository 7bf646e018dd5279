#pragma once
// A Waiter is a suspended coroutine's place in one list: of what it waits for, or of what is ready.
// It lives inside the coroutine's frame, so destroying the frame takes it out of its list: this is
// how cancellation deregisters everything without a word.

#include <coroutine>
#include <cstdint>

#include "base/assert.h"

namespace specgen {

class WaitList;

class Waiter {
 public:
  Waiter() = default;
  // Awaiters may be moved until they are awaited, never after.
  Waiter(Waiter&& other) noexcept { SG_ASSERT(!other.linked(), "an awaiter moved while it waits"); }
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
  std::uint64_t sequence_ = 0;  // order of registration: breaks ties of timers, goes into the hash

 protected:
  std::coroutine_handle<> handle_;
};

// First in, first out.
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
    SG_ASSERT(!waiter.linked(), "a coroutine waits in two places");
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
