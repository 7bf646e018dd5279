#include "runtime/interrupts.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace specgen {

Interrupts::Interrupts() {
  sigemptyset(&taken_);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken_, number);
  }
  ::sigprocmask(SIG_BLOCK, &taken_, &before_);
}

Interrupts::~Interrupts() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<std::unique_ptr<Interrupts>> Interrupts::open(Loop& loop, RealDriver& driver) {
  std::unique_ptr<Interrupts> interrupts(new Interrupts);
  Fd fd(::signalfd(-1, &interrupts->taken_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("signalfd", errno);
  interrupts->signals_ = TRY(AsyncFd::open(loop, driver, std::move(fd)));
  return interrupts;
}

Task<int> Interrupts::next() {
  signalfd_siginfo info{};
  auto read = co_await signals_->read_some({reinterpret_cast<char*>(&info), sizeof info});
  SG_ASSERT(read && *read == sizeof info, "signalfd returned a partial record");
  co_return static_cast<int>(info.ssi_signo);
}

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  ::_exit(128 + signal);  // the signal is blocked by an inherited mask
}

}  // namespace specgen
