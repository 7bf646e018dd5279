#pragma once
// A pipe, socket or pidfd, read and written by tasks of a loop without blocking.
// Ownership: it owns the descriptor; destroying it (also by cancelling the task that holds it) closes the
// descriptor at once. Destroy the tasks that wait on it first.
// Cancellation: a cancelled read loses nothing, its bytes stay in the pipe; of a cancelled write, an unknown
// prefix has been sent.
// One task may read and one may write at a time. Loop thread only.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"
#include "runtime/task.h"

namespace specgen {

class AsyncFd final : private FdHandler {
 public:
  // Fails for descriptors that epoll cannot watch, such as regular files.
  static Result<std::unique_ptr<AsyncFd>> open(Loop& loop, RealDriver& driver, Fd fd);
  ~AsyncFd();

  int get() const { return fd_.get(); }

  // Reads at least one byte; 0 at the end of the stream. Yields to other tasks after several reads in a row that did
  // not wait.
  Task<Result<std::size_t>> read_some(std::span<char> buffer);
  Task<Result<void>> write_all(std::string_view bytes);  // the bytes must outlive the task

  Event::Wait readable() { return readable_.wait(); }
  Event::Wait writable() { return writable_.wait(); }
  // For callers that make the system call themselves: await these after EAGAIN.
  Event::Wait wait_readable() {
    readable_.reset();
    return readable_.wait();
  }
  Event::Wait wait_writable() {
    writable_.reset();
    return writable_.wait();
  }

 private:
  AsyncFd(Loop& loop, RealDriver& driver, Fd fd);
  void on_ready(std::uint32_t epoll_events) override;

  Loop& loop_;
  RealDriver& driver_;
  Fd fd_;
  int reads_in_a_row_ = 0;  // without waiting
  // Edge-triggered: set by the driver, reset on EAGAIN.
  Event readable_;
  Event writable_;
};

}  // namespace specgen
