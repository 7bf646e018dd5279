#pragma once
// SIGINT, SIGTERM and SIGHUP as awaitable events, for an orderly shutdown: race the work against
// next(), finish what must be finished, destroy the Interrupts, then call end_by() so that the parent
// process sees which signal ended this one. Signals that were ignored at start (nohup) stay ignored.
// While an Interrupts exists these signals have no other effect on this process; children start with
// the default handling.

#include <signal.h>

#include <memory>

#include "base/error.h"
#include "runtime/async_fd.h"
#include "runtime/task.h"

namespace specgen {

class Interrupts {
 public:
  static Result<std::unique_ptr<Interrupts>> open(Loop& loop, RealDriver& driver);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  Task<int> next();  // the signal's number

 private:
  Interrupts();

  sigset_t taken_{};
  sigset_t before_{};
  std::unique_ptr<AsyncFd> signals_;
};

// Ends the process as the signal would have. Call it after the Interrupts was destroyed.
[[noreturn]] void end_by(int signal);

}  // namespace specgen
