#pragma once
// The real runtime: the monotonic clock, descriptors by epoll, deadlines by timerfd (to the
// nanosecond), other threads by a mailbox (eventfd). Everything but post() is for the loop's own
// thread.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/file.h"
#include "runtime/driver.h"

namespace specgen {

// Told when a descriptor is ready. It may make waiters ready; it runs no task itself.
class FdHandler {
 public:
  virtual void on_ready(std::uint32_t epoll_events) = 0;

 protected:
  ~FdHandler() = default;
};

// A driver raises the soft limit on open descriptors to the hard one: a thousand streams need two thousand. Children
// get back what we were started with, for some still use select(). Async-signal-safe.
void restore_descriptor_limit();

class RealDriver final : public Driver {
 public:
  // Without a seed, chance comes from the operating system.
  explicit RealDriver(std::optional<std::uint64_t> seed = std::nullopt);
  ~RealDriver() override;

  Time now() const override;
  WallTime wall_now() const override;
  Random& random() override { return random_; }
  bool wait(std::optional<Time> deadline) override;
  void poll() override { take_events(0); }

  // From any thread: `letter` runs on the loop's thread, between two tasks. It must be short.
  void post(std::move_only_function<void()> letter);

  // The handler must be removed before the descriptor is closed.
  Result<void> add(int fd, std::uint32_t epoll_events, FdHandler& handler);
  void modify(int fd, std::uint32_t epoll_events);
  void remove(int fd);

 private:
  void take_events(int timeout_ms);
  void read_mail();
  bool control(int operation, int fd, std::uint32_t epoll_events);
  void arm_timer(std::optional<Time> deadline);

  Random random_;
  Fd epoll_;
  Fd timer_;
  Fd mail_bell_;
  std::optional<Time> armed_;
  std::vector<FdHandler*> handlers_;  // by descriptor

  std::mutex mail_mutex_;
  std::vector<std::move_only_function<void()>> mail_;
};

}  // namespace specgen
