#pragma once
// A socket of a client on the loop of a thread. Tries the system call first and waits only when it would block; one
// event for both directions.

#include <memory>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "kvcache/byte_stream.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"

namespace specgen {

class KvSocket final : public ByteStream, private FdHandler {
 public:
  static Result<std::unique_ptr<KvSocket>> open(Loop& loop, RealDriver& driver, Fd fd);
  ~KvSocket() override;

  Moved receive(std::span<const std::span<char>> buffers) override;
  Moved send(std::span<const std::string_view> pieces) override;
  std::size_t unacknowledged() const override;

  int get() const { return fd_.get(); }
  // Waits until a blocked call may succeed, or wake() is called.
  Event::Wait wait() {
    changed_.reset();
    return changed_.wait();
  }
  void wake() { changed_.set(); }

 private:
  KvSocket(Loop& loop, RealDriver& driver, Fd fd);
  void on_ready(std::uint32_t epoll_events) override;

  RealDriver& driver_;
  Fd fd_;
  Event changed_;
  // Edge-triggered: set by the driver, reset when a system call would block.
  bool is_readable_ = true;
  bool is_writable_ = true;
  bool is_hung_up_ = false;
};

// The address of the other end without its port; "unix" for a local socket.
std::string peer_of(int fd);

}  // namespace specgen
