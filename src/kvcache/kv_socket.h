#pragma once
// A client's socket on a thread's loop. Calls the system first and waits only when it has said that there is no more
// for now; one event for both directions.

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

  Moved receive(std::span<const std::span<char>> rooms) override;
  Moved send(std::span<const std::string_view> pieces) override;
  std::size_t on_the_way() const override;

  int get() const { return fd_.get(); }
  // Something may have changed since the last call that was blocked. stir() says so itself.
  Event::Wait stirred() {
    stirred_.reset();
    return stirred_.wait();
  }
  void stir() { stirred_.set(); }

 private:
  KvSocket(Loop& loop, RealDriver& driver, Fd fd);
  void on_ready(std::uint32_t epoll_events) override;

  RealDriver& driver_;
  Fd fd_;
  Event stirred_;
  // Edge-triggered: set by the driver, reset when the system says there is no more for now.
  bool is_readable_ = true;
  bool is_writable_ = true;
  bool is_hung_up_ = false;
};

// The address of the other end without its port; "unix" of a local socket.
std::string peer_of(int fd);

}  // namespace specgen
