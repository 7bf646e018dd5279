#pragma once
// Synchronization between tasks of one loop: Event, Semaphore, Channel.
//
// All are FIFO and cancel-safe: a task that is cancelled after it was woken but before it ran passes
// its turn to the next waiter, and an item leaves a channel only when it is delivered.
// Threads: loop thread only; another thread posts a callback that calls set() or try_send().
// Lifetime: they outlive the tasks that wait on them. Nothing here allocates except a channel's queue.

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/loop.h"

namespace specgen {

// Set once, or until reset(). set() wakes all waiters.
class Event {
 public:
  explicit Event(Loop& loop) : loop_(loop) {}

  bool is_set() const { return set_; }
  void set() {
    set_ = true;
    while (!waiting_.empty()) loop_.make_ready(waiting_.pop_front());
  }
  void reset() { set_ = false; }

  struct Wait : Waiter {
    explicit Wait(Event& its_event) : event(its_event) {}
    bool await_ready() const { return event.set_; }
    void await_suspend(std::coroutine_handle<> handle) {
      event.loop_.suspend(*this, handle);
      event.waiting_.push_back(*this);
    }
    void await_resume() const {}
    Event& event;
  };
  Wait wait() { return Wait(*this); }

 private:
  Loop& loop_;
  WaitList waiting_;
  bool set_ = false;
};

// A counter of tokens, the base of Semaphore and Channel. While a task waits the count is zero: give()
// passes its token directly to the first waiter.
class Turnstile {
 public:
  Turnstile(Loop& loop, std::size_t tokens) : loop_(loop), tokens_(tokens) {}

  bool try_take() {
    if (tokens_ == 0) return false;
    --tokens_;
    return true;
  }
  void give() {
    if (waiting_.empty()) {
      ++tokens_;
      return;
    }
    auto& first = static_cast<Take&>(waiting_.pop_front());
    first.granted_ = true;
    loop_.make_ready(first);
  }
  // Waiters, and later takers that find no token, resume with false.
  void close() {
    closed_ = true;
    while (!waiting_.empty()) loop_.make_ready(waiting_.pop_front());
  }
  std::size_t tokens() const { return tokens_; }

  class Take : public Waiter {
   public:
    explicit Take(Turnstile& turnstile) : turnstile_(turnstile) {}
    Take(Take&&) = default;
    ~Take() {
      if (granted_)
        turnstile_.give();  // cancelled between wake-up and turn: pass it to the next waiter
    }
    bool await_ready() {
      granted_ = turnstile_.try_take();
      return granted_ || turnstile_.closed_;
    }
    void await_suspend(std::coroutine_handle<> handle) {
      turnstile_.loop_.suspend(*this, handle);
      turnstile_.waiting_.push_back(*this);
    }
    bool await_resume() { return std::exchange(granted_, false); }

   private:
    friend class Turnstile;
    Turnstile& turnstile_;
    bool granted_ = false;
  };
  Take take() { return Take(*this); }

 private:
  Loop& loop_;
  std::size_t tokens_;
  bool closed_ = false;
  WaitList waiting_;
};

// At most `permits` tasks at a time:   auto permit = co_await semaphore.acquire();
// The Permit releases on destruction and must not outlive the semaphore.
class Semaphore {
 public:
  class Permit {
   public:
    explicit Permit(Turnstile* turnstile) : turnstile_(turnstile) {}
    Permit(Permit&& other) noexcept : turnstile_(std::exchange(other.turnstile_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(turnstile_, other.turnstile_);
      return *this;
    }
    ~Permit() {
      if (turnstile_) turnstile_->give();
    }

   private:
    Turnstile* turnstile_;
  };

  struct Acquire : Turnstile::Take {
    explicit Acquire(Turnstile& its_turnstile) : Take(its_turnstile), turnstile(&its_turnstile) {}
    Permit await_resume() {
      Take::await_resume();
      return Permit(turnstile);
    }
    Turnstile* turnstile;
  };

  Semaphore(Loop& loop, std::size_t permits) : turnstile_(loop, permits) {}
  Acquire acquire() { return Acquire(turnstile_); }
  std::optional<Permit> try_acquire() {
    if (!turnstile_.try_take()) return std::nullopt;
    return Permit(&turnstile_);
  }
  std::size_t free() const { return turnstile_.tokens(); }

 private:
  Turnstile turnstile_;
};

// A bounded queue between tasks. After close(), receivers drain the remaining items and then get
// nullopt; senders get false.
template <class T>
class Channel {
 public:
  Channel(Loop& loop, std::size_t capacity) : items_(loop, 0), slots_(loop, capacity) {
    SG_ASSERT(capacity > 0, "a channel holds at least one item");
  }

  struct Send : Turnstile::Take {
    Send(Channel& its_channel, T its_item)
        : Take(its_channel.slots_), channel(its_channel), item(std::move(its_item)) {}
    bool await_ready() { return channel.closed_ || Take::await_ready(); }
    bool await_resume() {  // false: the channel is closed and the item was not sent
      bool has_slot = Take::await_resume();
      if (!has_slot || channel.closed_) return false;
      channel.push(std::move(item));
      return true;
    }
    Channel& channel;
    T item;
  };
  [[nodiscard]] Send send(T item) { return Send(*this, std::move(item)); }
  [[nodiscard]] bool try_send(T item) {
    if (closed_ || !slots_.try_take()) return false;
    push(std::move(item));
    return true;
  }

  struct Receive : Turnstile::Take {
    explicit Receive(Channel& its_channel) : Take(its_channel.items_), channel(its_channel) {}
    std::optional<T> await_resume() {  // nullopt: closed and drained
      // Retry: a receiver cancelled after close() woke this one may have left its item.
      if (!Take::await_resume() && !channel.items_.try_take()) return std::nullopt;
      return channel.pop();
    }
    Channel& channel;
  };
  [[nodiscard]] Receive receive() { return Receive(*this); }
  std::optional<T> try_receive() {
    if (!items_.try_take()) return std::nullopt;
    return pop();
  }

  void close() {
    closed_ = true;
    items_.close();
    slots_.close();
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return queue_.size(); }

 private:
  void push(T item) {
    queue_.push_back(std::move(item));
    items_.give();
  }
  T pop() {
    T item = std::move(queue_.front());
    queue_.pop_front();
    slots_.give();
    return item;
  }

  std::deque<T> queue_;
  Turnstile items_;
  Turnstile slots_;
  bool closed_ = false;
};

}  // namespace specgen
