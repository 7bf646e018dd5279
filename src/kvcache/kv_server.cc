#include "kvcache/kv_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "kvcache/kv_lane.h"
#include "kvcache/kv_listen.h"
#include "kvcache/kv_metrics_page.h"
#include "kvcache/kv_tls.h"
#include "runtime/async_fd.h"
#include "runtime/loop_thread.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxLanes = 16;

// A thread, and the lane that lives on it once its task has begun. Only letters to the thread touch the lane.
struct LaneThread {
  KvLane* lane = nullptr;
  std::unique_ptr<LoopThread> thread;
};

class RunningServer final : public KvServer {
 public:
  RunningServer(KvStore& store, KvServerSettings settings, KvListening listening,
                std::optional<KvListening> metrics, std::unique_ptr<KvTls> tls)
      : settings_(std::move(settings)),
        service_(store, settings_.limits),
        listening_(std::move(listening)),
        metrics_(std::move(metrics)),
        tls_(std::move(tls)),
        clerk_(std::make_unique<LoopThread>([](Loop&, RealDriver&) { return nothing(); })),
        lanes_(settings_.lanes) {
    service_.password = settings_.password;
    service_.rate = settings_.rate;
    service_.devices = settings_.devices;
    for (LaneThread& lane : lanes_) {
      lane.thread = std::make_unique<LoopThread>(
          [this, &lane](Loop& loop, RealDriver& driver) { return run_lane(lane, loop, driver); });
    }
    door_ = std::make_unique<LoopThread>(
        [this](Loop& loop, RealDriver& driver) { return keep_door(loop, driver); });
  }
  ~RunningServer() override {
    door_.reset();  // nobody comes any more
    std::unique_ptr<LoopThread> clerk;
    {
      std::lock_guard lock(clerk_mutex_);
      clerk = std::move(clerk_);
    }
    clerk.reset();  // what it has begun is finished, and told to a lane that still lives
    for (LaneThread& lane : lanes_) lane.thread.reset();
  }

  KvService& service() override { return service_; }
  const std::string& address() const override { return listening_.address(); }
  int port() const override { return listening_.port(); }
  int metrics_port() const override { return metrics_ ? metrics_->port() : 0; }
  std::size_t lanes() const override { return lanes_.size(); }

 private:
  static Task<void> nothing() { co_return; }

  Task<void> run_lane(LaneThread& mine, Loop& loop, RealDriver& driver) {
    keep_to_cores();
    KvLane lane(
        loop, driver, service_, tls_.get(), [this, &mine](KvLane::Slow slow, KvLane::Done done) {
          std::lock_guard lock(clerk_mutex_);
          if (!clerk_) return;  // the server ends
          clerk_->post([&mine, slow = std::move(slow), done = std::move(done)]() mutable {
            mine.thread->post(
                [reply = slow(), done = std::move(done)]() mutable { done(std::move(reply)); });
          });
        });
    mine.lane = &lane;
    co_await lane.watch();
  }

  // Takes connections and hands them round; and serves the few who ask for the counters.
  Task<void> keep_door(Loop& loop, RealDriver& driver) {
    keep_to_cores();
    TaskGroup beside(loop);
    if (metrics_) beside.spawn(serve_metrics(loop, driver, metrics_->take(), service_));
    auto listening = AsyncFd::open(loop, driver, listening_.take());
    SG_ASSERT(listening, "a listening socket cannot be waited for");
    while (true) {
      Fd accepted(::accept4((*listening)->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (accepted) {
        hand_round(std::move(accepted));
      } else if (errno == EAGAIN) {
        co_await (*listening)->wait_readable();
      } else {
        // Until others have let go of something; or the client was gone before we came.
        co_await loop.sleep(errno == ECONNABORTED || errno == EINTR ? 0ms : 100ms);
      }
    }
  }

  void hand_round(Fd accepted) {
    KvServerCounters& counters = service_.counters;
    ++counters.accepted;
    if (counters.open >= settings_.limits.connections) {
      constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
      ::send(accepted.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ++counters.closed[static_cast<std::size_t>(KvClose::too_many)];
      return;
    }
    ++counters.open;
    LaneThread& lane = lanes_[next_lane_++ % lanes_.size()];
    lane.thread->post(
        [&lane, fd = std::move(accepted)]() mutable { lane.lane->admit(std::move(fd)); });
  }

  void keep_to_cores() {
    if (!settings_.cores.empty()) (void)pin_to_cores(settings_.cores);
  }

  const KvServerSettings settings_;
  KvService service_;
  KvListening listening_;
  std::optional<KvListening> metrics_;
  std::unique_ptr<KvTls> tls_;
  std::mutex clerk_mutex_;
  std::unique_ptr<LoopThread> clerk_;  // runs what takes a while
  std::vector<LaneThread> lanes_;
  std::unique_ptr<LoopThread> door_;
  std::size_t next_lane_ = 0;  // the door's own
};

std::unexpected<Error> fail_as_open(const KvListening& listening) {
  return fail(ErrorCode::bad_usage, listening.address() + " can be reached from other hosts",
              "listen on 127.0.0.1 or unix:PATH, or say that this is meant with --kv-open");
}

Result<void> check_reach(const KvListening& listening, const KvServerSettings& settings) {
  if (listening.is_local()) return {};
  if (!settings.is_open) return fail_as_open(listening);
  if (settings.password.empty()) {
    return fail(ErrorCode::bad_usage, listening.address() + " can be reached without a password",
                "name a file that holds one with --kv-password-file");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<KvServer>> KvServer::start(KvStore& store, KvServerSettings settings) {
  KvListening listening = TRY(KvListening::open(settings.listen));
  TRY(check_reach(listening, settings));
  std::optional<KvListening> metrics;
  if (!settings.metrics.empty()) {
    metrics = TRY(KvListening::open(settings.metrics));
    if (!metrics->is_local() && !settings.is_open) return fail_as_open(*metrics);
  }
  std::unique_ptr<KvTls> tls;
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    return fail(ErrorCode::bad_usage, "TLS takes a certificate and its key",
                "give both --kv-tls-cert and --kv-tls-key");
  }
  if (!settings.tls_certificate.empty()) {
    tls = TRY(KvTls::open(settings.tls_certificate, settings.tls_key));
  }
  std::size_t cores = settings.cores.empty() ? allowed_cores().size() : settings.cores.size();
  if (settings.lanes == 0) settings.lanes = std::clamp<std::size_t>(cores, 1, kMaxLanes);
  return std::make_unique<RunningServer>(store, std::move(settings), std::move(listening),
                                         std::move(metrics), std::move(tls));
}

}  // namespace specgen
