#pragma once
// Where a command does its work: a loop in real time with its child processes. Ctrl-C (and SIGTERM,
// SIGHUP) ends it at once: the children with their descendants first, then this process, by the same
// signal.

#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "runtime/interrupts.h"
#include "runtime/race.h"
#include "runtime/subprocess.h"

namespace specgen {

struct Workbench {
  RealDriver driver = RealDriver();
  Loop loop = Loop(driver);
  Processes processes = Processes(loop, driver);
};

template <class T>
struct Performance {
  std::optional<Result<T>> result;
  int signal = 0;  // instead
};

template <class T>
Task<Performance<T>> perform_or_end(Task<Result<T>> work, Interrupts& interrupts) {
  auto outcome = co_await race(std::move(work), interrupts.next());
  Performance<T> performance;
  if (auto* result = outcome.first()) performance.result = std::move(*result);
  if (auto* signal = outcome.second()) performance.signal = *signal;
  co_return performance;
}

// `work` makes the task; what the task uses of the bench is gone when this returns.
template <class T>
Result<T> perform_at_workbench(const std::function<Task<Result<T>>(Workbench&)>& work) {
  Performance<T> performance;
  {
    Workbench bench;
    auto interrupts = TRY(Interrupts::open(bench.loop, bench.driver));
    performance = bench.loop.run(perform_or_end<T>(work(bench), *interrupts));
  }
  if (performance.signal != 0) end_by(performance.signal);
  return std::move(*performance.result);
}

}  // namespace specgen
