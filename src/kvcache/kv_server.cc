#include "kvcache/kv_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "kvcache/kv_listen.h"
#include "kvcache/kv_metrics_page.h"
#include "kvcache/kv_server_thread.h"
#include "kvcache/kv_tls.h"
#include "runtime/async_fd.h"
#include "runtime/loop_thread.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxThreads = 16;

// A thread and its connections, which exist once its task has begun and are used on that thread only.
struct Worker {
  KvServerThread* connections = nullptr;
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
        slow_thread_(std::make_unique<LoopThread>([](Loop&, RealDriver&) { return nothing(); })),
        workers_(settings_.threads) {
    service_.password = settings_.password;
    service_.rate = settings_.rate;
    service_.devices = settings_.devices;
    for (Worker& worker : workers_) {
      worker.thread = std::make_unique<LoopThread>([this, &worker](Loop& loop, RealDriver& driver) {
        return run_worker(worker, loop, driver);
      });
    }
    acceptor_ = std::make_unique<LoopThread>(
        [this](Loop& loop, RealDriver& driver) { return accept_clients(loop, driver); });
  }
  ~RunningServer() override {
    acceptor_.reset();  // no new connections from here on
    std::unique_ptr<LoopThread> slow_thread;
    {
      std::lock_guard lock(slow_mutex_);
      slow_thread = std::move(slow_thread_);
    }
    slow_thread.reset();  // finishes its command; the workers still exist to take the reply
    for (Worker& worker : workers_) worker.thread.reset();
  }

  KvService& service() override { return service_; }
  const std::string& address() const override { return listening_.address(); }
  int port() const override { return listening_.port(); }
  int metrics_port() const override { return metrics_ ? metrics_->port() : 0; }
  std::size_t threads() const override { return workers_.size(); }

 private:
  static Task<void> nothing() { co_return; }

  Task<void> run_worker(Worker& mine, Loop& loop, RealDriver& driver) {
    pin_thread();
    KvServerThread connections(
        loop, driver, service_, tls_.get(),
        [this, &mine](KvServerThread::Slow slow, KvServerThread::Done done) {
          std::lock_guard lock(slow_mutex_);
          if (!slow_thread_) return;  // the server is being destroyed
          slow_thread_->post([&mine, slow = std::move(slow), done = std::move(done)]() mutable {
            mine.thread->post(
                [reply = slow(), done = std::move(done)]() mutable { done(std::move(reply)); });
          });
        });
    mine.connections = &connections;
    co_await connections.watch();
  }

  // Accepts connections and distributes them; also serves the metrics.
  Task<void> accept_clients(Loop& loop, RealDriver& driver) {
    pin_thread();
    TaskGroup beside(loop);
    if (metrics_) beside.spawn(serve_metrics(loop, driver, metrics_->take(), service_));
    auto listening = AsyncFd::open(loop, driver, listening_.take());
    SG_ASSERT(listening, "a listening socket cannot be polled");
    while (true) {
      Fd accepted(::accept4((*listening)->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (accepted) {
        assign(std::move(accepted));
      } else if (errno == EAGAIN) {
        co_await (*listening)->wait_readable();
      } else {
        // Out of a resource until it is released; or the client has gone already.
        co_await loop.sleep(errno == ECONNABORTED || errno == EINTR ? 0ms : 100ms);
      }
    }
  }

  void assign(Fd accepted) {
    KvServerCounters& counters = service_.counters;
    ++counters.accepted;
    if (counters.open >= settings_.limits.connections) {
      constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
      ::send(accepted.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ++counters.closed[static_cast<std::size_t>(KvClose::too_many)];
      return;
    }
    ++counters.open;
    Worker& worker = workers_[next_worker_++ % workers_.size()];
    worker.thread->post([&worker, fd = std::move(accepted)]() mutable {
      worker.connections->admit(std::move(fd));
    });
  }

  void pin_thread() {
    if (!settings_.cores.empty()) (void)pin_to_cores(settings_.cores);
  }

  const KvServerSettings settings_;
  KvService service_;
  KvListening listening_;
  std::optional<KvListening> metrics_;
  std::unique_ptr<KvTls> tls_;
  std::mutex slow_mutex_;
  std::unique_ptr<LoopThread> slow_thread_;  // runs slow commands
  std::vector<Worker> workers_;
  std::unique_ptr<LoopThread> acceptor_;
  std::size_t next_worker_ = 0;  // used by the acceptor only
};

std::unexpected<Error> fail_as_open(const KvListening& listening) {
  return fail(ErrorCode::bad_usage, listening.address() + " can be reached from other hosts",
              "listen on 127.0.0.1 or unix:PATH, or allow it with --kv-open");
}

Result<void> check_reach(const KvListening& listening, const KvServerSettings& settings) {
  if (listening.is_local()) return {};
  if (!settings.is_open) return fail_as_open(listening);
  if (settings.password.empty()) {
    return fail(ErrorCode::bad_usage, listening.address() + " can be reached without a password",
                "give a password with --kv-password-file");
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
    return fail(ErrorCode::bad_usage, "TLS needs a certificate and its key",
                "give both --kv-tls-cert and --kv-tls-key");
  }
  if (!settings.tls_certificate.empty()) {
    tls = TRY(KvTls::open(settings.tls_certificate, settings.tls_key));
  }
  std::size_t cores = settings.cores.empty() ? allowed_cores().size() : settings.cores.size();
  if (settings.threads == 0) settings.threads = std::clamp<std::size_t>(cores, 1, kMaxThreads);
  return std::make_unique<RunningServer>(store, std::move(settings), std::move(listening),
                                         std::move(metrics), std::move(tls));
}

}  // namespace specgen
