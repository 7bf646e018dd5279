#include "kvcache/kv_gateway.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "kvcache/gateway_session.h"
#include "kvcache/kv_listen.h"
#include "runtime/async_fd.h"
#include "runtime/loop_thread.h"
#include "runtime/stopwatch.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostNodes = 256;
constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kMostClients = 20000;

Result<std::unique_ptr<GatewayNode>> node_of(std::string_view text) {
  constexpr std::string_view kWeight = ",weight=";
  double weight = 1;
  std::size_t at = text.find(kWeight);
  if (at != text.npos) {
    std::string_view number = text.substr(at + kWeight.size());
    auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
    bool whole = error == std::errc() && stop == number.data() + number.size();
    if (!whole || !(weight > 0 && weight <= 1e6)) {
      return fail(ErrorCode::bad_usage, fmt::format("--node: '{}' is not a weight", number),
                  "write a number above 0, such as the gigabytes that the node lends");
    }
  }
  return GatewayNode::find(TRY(parse_kv_address(text.substr(0, at))), weight);
}

Task<void> serve_client(Loop& loop, RealDriver& driver, GatewayShared& shared,
                        ValueBuffers& buffers, Fd fd) {
  auto socket = KvSocket::open(loop, driver, std::move(fd));
  if (!socket) co_return;
  GatewaySession session(loop, driver, shared, buffers, std::move(*socket));
  co_await session.serve();
}

// Every thread accepts: whichever has time takes the next client.
Task<void> accept_clients(Loop& loop, RealDriver& driver, GatewayShared& shared, Fd listener,
                          std::size_t memory) {
  auto listening = AsyncFd::open(loop, driver, std::move(listener));
  if (!listening) co_return;
  ValueBuffers buffers(loop, memory);
  TaskGroup clients(loop);
  while (true) {
    Fd fd(::accept4((*listening)->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd && shared.counters.open < kMostClients) {
      clients.spawn(serve_client(loop, driver, shared, buffers, std::move(fd)));
      co_await loop.yield();
    } else if (!fd && errno == EAGAIN) {
      co_await (*listening)->wait_readable();
    } else if (!fd && errno != EINTR && errno != ECONNABORTED) {
      co_await loop.sleep(100ms);  // out of descriptors: some will come free
    }
  }
}

class RunningGateway final : public KvGateway {
 public:
  RunningGateway(std::unique_ptr<KvStore> nothing, KvListening listening)
      : nothing_(std::move(nothing)), shared_(*nothing_), listening_(std::move(listening)) {}

  const std::string& address() const override { return listening_.address(); }
  std::string stats() const override { return gateway_stats(shared_); }

  std::unique_ptr<KvStore> nothing_;  // what commands that are not about values look at
  GatewayShared shared_;
  KvListening listening_;
  std::vector<std::unique_ptr<LoopThread>> threads_;  // last: they use the others
};

}  // namespace

Result<std::unique_ptr<KvGateway>> KvGateway::start(KvGatewaySettings settings) {
  if (settings.nodes.empty() || settings.nodes.size() > kMostNodes) {
    return fail(ErrorCode::bad_usage, fmt::format("a gateway has 1 to {} nodes", kMostNodes));
  }
  KvListening listening = TRY(KvListening::open(settings.listen));
  if (!listening.is_local() && settings.password.empty()) {
    return fail(
        ErrorCode::bad_usage, listening.address() + " can be reached without a password",
        "listen on 127.0.0.1 or unix:PATH, or name a file that holds one with --password-file");
  }
  auto nothing = TRY(KvStore::open({.host = MiB(8), .drain = MiB(2), .ready_at_open = Bytes{}}));
  auto gateway = std::make_unique<RunningGateway>(std::move(nothing), std::move(listening));
  GatewayShared& shared = gateway->shared_;
  shared.node_password = settings.password;
  if (!gateway->listening_.is_local()) shared.service.password = settings.password;
  for (const std::string& text : settings.nodes) shared.nodes.push_back(TRY(node_of(text)));
  if (settings.threads == 0) {
    settings.threads = std::clamp<std::size_t>(allowed_cores().size() / 2, 1, kMostThreads);
  }
  for (std::size_t i = 0; i < settings.threads; ++i) {
    int mine = ::fcntl(gateway->listening_.get(), F_DUPFD_CLOEXEC, 0);
    if (mine < 0) return fail_errno("dup", errno);
    std::size_t memory = settings.buffers.count / settings.threads;
    gateway->threads_.push_back(
        std::make_unique<LoopThread>([&shared, mine, memory](Loop& loop, RealDriver& driver) {
          return accept_clients(loop, driver, shared, Fd(mine), memory);
        }));
  }
  return gateway;
}

}  // namespace specgen
