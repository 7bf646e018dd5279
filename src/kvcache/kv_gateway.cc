#include "kvcache/kv_gateway.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "kvcache/client_threads.h"
#include "kvcache/gateway_session.h"
#include "kvcache/kv_listen.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxNodes = 256;
constexpr std::size_t kMaxThreads = 8;
constexpr std::size_t kMaxClients = 20000;

Result<std::unique_ptr<GatewayNode>> node_of(std::string_view text) {
  constexpr std::string_view kWeight = ",weight=";
  double weight = 1;
  std::size_t at = text.find(kWeight);
  if (at != text.npos) {
    std::string_view number = text.substr(at + kWeight.size());
    auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
    bool is_number = error == std::errc() && stop == number.data() + number.size();
    if (!is_number || !(weight > 0 && weight <= 1e6)) {
      return fail(ErrorCode::bad_usage, fmt::format("--node: '{}' is not a weight", number),
                  "write a number above 0, such as the gigabytes of the node");
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

class RunningGateway final : public KvGateway {
 public:
  RunningGateway(std::unique_ptr<KvStore> nothing, KvListening listening)
      : empty_store_(std::move(nothing)),
        shared_(*empty_store_),
        listening_(std::move(listening)) {}

  const std::string& address() const override { return listening_.address(); }
  std::string stats() const override { return gateway_stats(shared_); }

  std::unique_ptr<KvStore> empty_store_;  // for commands that are not about values
  GatewayShared shared_;
  KvListening listening_;
  std::vector<std::unique_ptr<ValueBuffers>> buffers_;  // one per thread, created by it
  std::unique_ptr<ClientThreads> threads_;              // last: they use the members above
};

}  // namespace

Result<std::unique_ptr<KvGateway>> KvGateway::start(KvGatewaySettings settings) {
  if (settings.nodes.empty() || settings.nodes.size() > kMaxNodes) {
    return fail(ErrorCode::bad_usage, fmt::format("a gateway has 1 to {} nodes", kMaxNodes));
  }
  KvListening listening = TRY(KvListening::open(settings.listen));
  if (!listening.is_local() && settings.password.empty()) {
    return fail(ErrorCode::bad_usage, listening.address() + " can be reached without a password",
                "listen on 127.0.0.1 or unix:PATH, or give a password with --password-file");
  }
  auto nothing = TRY(KvStore::open({.host = MiB(8), .drain = MiB(2), .ready_at_open = Bytes{}}));
  auto gateway = std::make_unique<RunningGateway>(std::move(nothing), std::move(listening));
  GatewayShared& shared = gateway->shared_;
  shared.node_password = settings.password;
  if (!gateway->listening_.is_local()) shared.service.password = settings.password;
  for (const std::string& text : settings.nodes) shared.nodes.push_back(TRY(node_of(text)));
  if (settings.threads == 0) {
    settings.threads = std::clamp<std::size_t>(allowed_cores().size() / 2, 1, kMaxThreads);
  }
  gateway->buffers_.resize(settings.threads);
  std::size_t memory = settings.buffers.count / settings.threads;
  gateway->threads_ = std::make_unique<ClientThreads>(
      gateway->listening_.take(), settings.threads, kMaxClients, std::vector<int>(),
      [self = gateway.get(), memory](ClientThread here, Fd fd) {
        auto& buffers = self->buffers_[here.number];
        if (!buffers) buffers = std::make_unique<ValueBuffers>(here.loop, memory);
        return serve_client(here.loop, here.driver, self->shared_, *buffers, std::move(fd));
      });
  return gateway;
}

}  // namespace specgen
