#pragma once
// Real time: the monotonic clock, epoll for descriptors, timerfd for deadlines (nanosecond
// resolution), and a queue of callbacks from other threads (eventfd).
// Threads: post() may be called from any thread, everything else from the loop's thread only.
// Side effects on the process: SIGPIPE is ignored, the soft limit on open descriptors is raised.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/file.h"
#include "runtime/driver.h"

namespace specgen {

// Called when a descriptor is ready. May make waiters ready; must not resume a task itself.
class FdHandler {
 public:
  virtual void on_ready(std::uint32_t epoll_events) = 0;

 protected:
  ~FdHandler() = default;
};

// A RealDriver raises the soft limit on open descriptors to the hard limit (a thousand streams need two thousand).
// Restores the original limit, for a child between fork and exec: some programs still use select().
// Async-signal-safe.
void restore_descriptor_limit();

class RealDriver final : public Driver {
 public:
  // Without a seed, the random generator is seeded by the operating system.
  explicit RealDriver(std::optional<std::uint64_t> seed = std::nullopt);
  ~RealDriver() override;

  Time now() const override;
  WallTime wall_now() const override;
  Random& random() override { return random_; }
  bool wait(std::optional<Time> deadline) override;
  void poll() override { take_events(0); }

  // From any thread: runs `callback` on the loop's thread, between two resumptions. It must be short and
  // must not block. The queue is unbounded; callbacks that were not run are destroyed with the driver.
  void post(std::move_only_function<void()> callback);

  // `handler` must outlive its registration; remove() it before the descriptor is closed.
  Result<void> add(int fd, std::uint32_t epoll_events, FdHandler& handler);
  void modify(int fd, std::uint32_t epoll_events);
  void remove(int fd);

 private:
  void take_events(int timeout_ms);
  void run_posted();
  bool control(int operation, int fd, std::uint32_t epoll_events);
  void arm_timer(std::optional<Time> deadline);

  Random random_;
  Fd epoll_;
  Fd timer_;
  Fd posted_event_;
  std::optional<Time> armed_;
  std::vector<FdHandler*> handlers_;  // by descriptor

  std::mutex posted_mutex_;
  std::vector<std::move_only_function<void()>> posted_;
};

}  // namespace specgen
