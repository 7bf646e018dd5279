#pragma once
// A pipe, socket or pidfd that tasks of a loop read and write without blocking. Owns the
// descriptor: destroying it (and so cancelling the task that holds it) closes the descriptor at
// once. One task reads and one writes at a time. Reading and writing are cancel-safe up to the
// byte: what a cancelled write had sent is sent, what a cancelled read had not returned is still in
// the pipe.

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
  // Fails on what cannot wait, such as a regular file.
  static Result<std::unique_ptr<AsyncFd>> open(Loop& loop, RealDriver& driver, Fd fd);
  ~AsyncFd();

  int get() const { return fd_.get(); }

  // Some bytes, at least one; 0 at the end of the stream. A stream that never runs dry lets others
  // have their turn now and then.
  Task<Result<std::size_t>> read_some(std::span<char> buffer);
  Task<Result<void>> write_all(std::string_view bytes);  // the bytes must outlive the task

  Event::Wait readable() { return readable_.wait(); }
  Event::Wait writable() { return writable_.wait(); }
  // For those who call the system themselves, when it has said that there is no more for now.
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
  int reads_in_a_row_ = 0;  // without having waited
  // Edge-triggered: set by the driver, reset when the system says there is no more for now.
  Event readable_;
  Event writable_;
};

}  // namespace specgen
