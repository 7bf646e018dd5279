#pragma once
// Ctrl-C, SIGTERM and SIGHUP as something to be awaited, so that a command can end in good order:
// race its work against next(), finish what must be finished, then end_by() that signal, so that
// whoever started us sees what ended us. Signals that our parent has us ignore (nohup) stay
// ignored. While it lives the signals do nothing else; children get their usual meaning back.

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

// Ends the process as the signal would have. Interrupts must be gone.
[[noreturn]] void end_by(int signal);

}  // namespace specgen
