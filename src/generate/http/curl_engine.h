#pragma once
// Runs libcurl's transfers on the loop: the driver watches its sockets, a task is its timer, and curl is called when
// one of them is ready. The only threads are those of its name lookups. curl's callbacks only set events; the tasks
// that wait for a transfer resume in the loop's next turn. Owned by an HttpClient; outlives its transfers.

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
    virtual void on_end(int curl_code) = 0;  // may remove itself; must not resume a task

   protected:
    ~Transfer() = default;
  };

  CurlEngine(Loop& loop, RealDriver& driver);  // after load_curl()
  ~CurlEngine();
  CurlEngine(const CurlEngine&) = delete;
  CurlEngine& operator=(const CurlEngine&) = delete;

  // `easy` is a CURL*. Removing it before its end closes its connection at once.
  void add(void* easy, Transfer& transfer);
  void remove(void* easy);

 private:
  struct Callbacks;

  void watch(int fd, int what);
  void open_again(int fd);
  void set_timer(long timeout_ms);
  void on_ready(std::uint32_t epoll_events) override;
  void process(int fd, int what_is_ready);
  Task<void> run_timer();

  Loop& loop_;
  RealDriver& driver_;
  void* multi_;  // a CURLM
  std::size_t transfers_ = 0;

  // curl's sockets have an epoll instance of their own, which the driver watches: curl 7.88 closes a connecting socket
  // before it reports that, and may by then have opened another with the same number, which it takes for watched
  // already.
  Fd sockets_;
  std::vector<std::uint32_t> watched_for_;  // by descriptor; 0: not at all

  std::optional<Time> deadline_;  // curl asks to be called then
  std::optional<Time> asleep_until_;
  Event deadline_is_nearer_;
  TaskGroup timer_;
};

}  // namespace specgen
