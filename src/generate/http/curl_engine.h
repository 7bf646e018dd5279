#pragma once
// libcurl's transfers, driven by our loop: its sockets are watched by the driver, its timer is a task, and it works
// when one of them says so. It has no thread but those of its name lookups. Whoever waits for a transfer goes on
// in the loop's next turn, when curl has returned. Owned by an HttpClient; outlives its transfers.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/file.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {

class CurlEngine final : private FdHandler {
 public:
  class Transfer {
   public:
    virtual void on_end(int curl_code) = 0;  // may remove itself; resumes nobody

   protected:
    ~Transfer() = default;
  };

  CurlEngine(Loop& loop, RealDriver& driver);  // after load_curl()
  ~CurlEngine();
  CurlEngine(const CurlEngine&) = delete;
  CurlEngine& operator=(const CurlEngine&) = delete;

  // `easy` is a CURL*. One that is removed before its end loses its connection at once.
  void add(void* easy, Transfer& transfer);
  void remove(void* easy);

 private:
  struct Callbacks;

  void watch(int fd, int what);
  void open_again(int fd);
  void set_timer(long timeout_ms);
  void on_ready(std::uint32_t epoll_events) override;
  void act(int fd, int what_is_ready);
  Task<void> keep_time();

  Loop& loop_;
  RealDriver& driver_;
  void* multi_;  // a CURLM
  std::size_t transfers_ = 0;

  // curl's sockets have an epoll of their own, and the driver sees that one alone: curl 7.88 closes a socket that is
  // still connecting before it says so, and may have opened another under the same number by then, which it believes
  // to be watched already.
  Fd sockets_;
  std::vector<std::uint32_t> watched_for_;  // by descriptor; 0: not at all

  std::optional<Time> deadline_;  // curl wants to be called then
  std::optional<Time> asleep_until_;
  Event deadline_is_nearer_;
  TaskGroup clockwork_;
};

}  // namespace specgen
