#pragma once
// race(a, b, ...): awaits several awaitables, returns the result of the first to finish, cancels the others.
//
//   auto event = co_await race(stream.next(), results.next());
//   if (auto* delta = event.first()) follow(*delta);
//   if (auto* result = event.second()) add(*result);
//
// Ownership: the race owns its awaitables (they are moved in).
// Cancellation: the losers are destroyed before the awaiting task resumes. A loser that was already woken
// passes its turn on, so cancel-safe awaitables (Channel::receive, Event::wait, AsyncFd) lose nothing.
// Cancelling the awaiting task destroys all branches.
// Order: if several are ready at once, the earliest argument wins and later ones are not started.
// with_timeout(): a race between a task and a sleep.

#include <array>
#include <coroutine>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "runtime/loop.h"
#include "runtime/task.h"

namespace specgen {
namespace detail {

template <class Awaitable>
decltype(auto) awaiter_of(Awaitable&& awaitable) {
  if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
    return std::forward<Awaitable>(awaitable).operator co_await();
  } else {
    return std::forward<Awaitable>(awaitable);
  }
}

template <class Awaitable>
using AwaitResult = decltype(awaiter_of(std::declval<Awaitable>()).await_resume());

template <class T>
using NotVoid = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

struct RaceState {
  std::coroutine_handle<> waiting;
  bool starting = true;  // branches may finish before they first suspend
  bool decided = false;
};

// One branch of a race. Its frame holds the awaitable; when it ends it resumes the awaiting task directly,
// so that no other branch can finish in between.
class Branch {
 public:
  struct promise_type {
    RaceState* state = nullptr;

    struct Decide {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> ended) const noexcept {
        RaceState& race = *ended.promise().state;
        race.decided = true;
        return race.starting ? std::noop_coroutine() : race.waiting;
      }
      void await_resume() const noexcept {}
    };
    Branch get_return_object() {
      return Branch(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Decide final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { exception_left_task(); }
    void return_void() noexcept {}
  };

  Branch() = default;
  explicit Branch(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Branch(Branch&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Branch& operator=(Branch&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Branch() { cancel(); }
  void start(RaceState& state) {
    handle_.promise().state = &state;
    handle_.resume();
  }
  void cancel() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_ = nullptr;
};

}  // namespace detail

// The result of exactly one branch.
template <class... T>
class RaceResult {
 public:
  std::size_t winner() const { return outcome_.index() - 1; }
  auto* first() { return get<0>(); }
  auto* second() { return get<1>(); }
  template <std::size_t I>
  auto* get() {
    return std::get_if<I + 1>(&outcome_);
  }

 private:
  template <class... A>
  friend class Race;
  std::variant<std::monostate, detail::NotVoid<T>...> outcome_;
};

template <class... Awaitable>
class [[nodiscard]] Race {
 public:
  using Outcome = RaceResult<detail::AwaitResult<Awaitable>...>;

  explicit Race(Awaitable... awaitables) : awaitables_(std::move(awaitables)...) {}

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    state_.waiting = handle;
    start(std::index_sequence_for<Awaitable...>{});
    state_.starting = false;
    return !state_.decided;
  }
  Outcome await_resume() {
    for (detail::Branch& branch : branches_) branch.cancel();
    return std::move(outcome_);
  }

 private:
  template <std::size_t... I>
  void start(std::index_sequence<I...>) {
    (start_one<I>(), ...);
  }
  template <std::size_t I>
  void start_one() {
    if (state_.decided) return;
    branches_[I] = run<I>(outcome_, std::move(std::get<I>(awaitables_)));
    branches_[I].start(state_);
  }
  template <std::size_t I, class A>
  static detail::Branch run(Outcome& outcome, A awaitable) {
    if constexpr (std::is_void_v<detail::AwaitResult<A>>) {
      co_await std::move(awaitable);
      outcome.outcome_.template emplace<I + 1>();
    } else {
      outcome.outcome_.template emplace<I + 1>(co_await std::move(awaitable));
    }
  }

  std::tuple<Awaitable...> awaitables_;
  std::array<detail::Branch, sizeof...(Awaitable)> branches_;
  detail::RaceState state_;
  Outcome outcome_;
};

template <class... Awaitable>
Race<Awaitable...> race(Awaitable... awaitables) {
  return Race<Awaitable...>(std::move(awaitables)...);
}

namespace detail {
template <class T>
struct Flatten {
  using Type = Result<T>;
};
template <class T>
struct Flatten<Result<T>> {
  using Type = Result<T>;
};
}  // namespace detail

// The task's result; or ErrorCode::timeout, and the task is cancelled. A task that returns a Result keeps
// its type. `what` names the operation in the error.
template <class T>
Task<typename detail::Flatten<T>::Type> with_timeout(Loop& loop, Duration limit, Task<T> task,
                                                     std::string what = {}) {
  auto outcome = co_await race(std::move(task), loop.sleep(limit));
  if (outcome.second()) {
    if (!what.empty()) what += ": ";
    co_return fail(ErrorCode::timeout, what + "the limit is " + format_duration(limit));
  }
  if constexpr (std::is_void_v<T>) {
    co_return Result<void>();
  } else {
    co_return std::move(*outcome.first());
  }
}

}  // namespace specgen
