#pragma once
// Task<T>: a lazy coroutine. It starts when it is first awaited, and its holder owns it.
//
//   Task<Result<int>> lines(std::string path) { co_return CO_TRY(co_await read(path)).size(); }
//
// Ownership: a Task owns its coroutine frame. Awaiting it transfers control, not ownership.
// Cancellation: destroying a Task destroys its frame and everything the frame owns or awaits. No
// destructor may wait: whatever must be awaited after a cancel (a child process to be reaped, a
// journal commit) belongs to a longer-lived owner. A Task must not be destroyed while it is
// executing; TaskGroup and race() defer the destruction where that could happen.
// Threads: all tasks of a Loop run on the loop's thread.
// Cost: one allocation per call; resuming the awaiting task is a jump, not a trip through the loop.
//
// Take parameters by value, or by reference to objects that outlive the task. Do not write a
// coroutine as a capturing lambda: the closure is destroyed before the coroutine that uses it.
// An exception that leaves a Task is a bug: libraries that throw are wrapped where they are called.

#include <coroutine>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace specgen {

template <class T = void>
class Task;

namespace detail {

[[noreturn]] void exception_left_task() noexcept;

struct ResumeContinuation {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
    return finished.promise().continuation;
  }
  void await_resume() const noexcept {}
};

struct TaskPromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  std::suspend_always initial_suspend() noexcept { return {}; }
  ResumeContinuation final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { exception_left_task(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;

  Task<T> get_return_object() noexcept;
  template <class U = T>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return std::move(*value); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() noexcept {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool done() const { return handle_.done(); }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
        handle.promise().continuation = waiting;
        return handle;
      }
      T await_resume() { return handle.promise().take(); }
    };
    SG_ASSERT(handle_, "a moved-from task is awaited");
    return Awaiter{handle_};
  }

 private:
  friend class Loop;
  Handle handle_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> detail::TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace specgen
