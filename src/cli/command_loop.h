#pragma once
// A loop in real time with its child processes, for one command. Ctrl-C (and SIGTERM, SIGHUP) cancels the work at once:
// the children with their descendants end first, then this process, by the same signal.

#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "runtime/interrupts.h"
#include "runtime/race.h"
#include "runtime/subprocess.h"

namespace specgen {

struct CommandLoop {
  RealDriver driver = RealDriver();
  Loop loop = Loop(driver);
  Processes processes = Processes(loop, driver);
};

namespace detail {

template <class T>
struct ResultOrSignal {
  std::optional<Result<T>> result;
  int signal = 0;  // instead
};

template <class T>
Task<ResultOrSignal<T>> result_or_signal(Task<Result<T>> work, Interrupts& interrupts) {
  auto outcome = co_await race(std::move(work), interrupts.next());
  ResultOrSignal<T> ended;
  if (auto* result = outcome.first()) ended.result = std::move(*result);
  if (auto* signal = outcome.second()) ended.signal = *signal;
  co_return ended;
}

}  // namespace detail

// Runs the task that `work` makes. What the task uses of the CommandLoop is destroyed when this returns.
template <class T>
Result<T> run_on_loop(const std::function<Task<Result<T>>(CommandLoop&)>& work) {
  detail::ResultOrSignal<T> ended;
  {
    CommandLoop command;
    auto interrupts = TRY(Interrupts::open(command.loop, command.driver));
    ended = command.loop.run(detail::result_or_signal<T>(work(command), *interrupts));
  }
  if (ended.signal != 0) end_by(ended.signal);
  return std::move(*ended.result);
}

}  // namespace specgen
