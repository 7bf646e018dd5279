#include "kvcache/kv_lane.h"

#include <sys/socket.h>

namespace specgen {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(500);
constexpr Duration kMoment =
    std::chrono::microseconds(200);  // of a device that copies a few megabytes

}  // namespace

// Counts itself, also when the lane ends.
struct KvLane::Connection {
  Connection(KvLane& its_lane, std::unique_ptr<KvSocket> its_socket,
             std::unique_ptr<ByteStream> its_tls)
      : lane(its_lane),
        socket(std::move(its_socket)),
        tls(std::move(its_tls)),
        session(lane.service_, tls ? *tls : *socket, lane.shelf_,
                lane.service_.links.of(peer_of(socket->get())),
                [&loop = lane.loop_] { return loop.now(); }) {
    lane.connections_[session.id()] = this;
  }
  ~Connection() {
    lane.connections_.erase(session.id());
    --lane.service_.counters.open;
    ++lane.service_.counters.closed[static_cast<std::size_t>(reason)];
  }

  KvLane& lane;
  std::unique_ptr<KvSocket> socket;
  std::unique_ptr<ByteStream> tls;  // over the socket, if asked for
  KvSession session;
  KvClose reason = KvClose::server_ended;
};

KvLane::KvLane(Loop& loop, RealDriver& driver, KvService& service, const KvTls* tls,
               RunElsewhere run_elsewhere)
    : loop_(loop),
      driver_(driver),
      service_(service),
      tls_(tls),
      run_elsewhere_(std::move(run_elsewhere)),
      tasks_(loop, service.limits.connections + 1) {}

KvLane::~KvLane() = default;

void KvLane::admit(Fd accepted) {
  auto socket = KvSocket::open(loop_, driver_, std::move(accepted));
  if (!socket) {  // the system is out of something; the client sees the end
    --service_.counters.open;
    ++service_.counters.closed[static_cast<std::size_t>(KvClose::too_many)];
    return;
  }
  std::unique_ptr<ByteStream> tls = tls_ ? tls_->accept((*socket)->get()) : nullptr;
  tasks_.spawn(serve(std::make_unique<Connection>(*this, std::move(*socket), std::move(tls))));
}

Task<void> KvLane::serve(std::unique_ptr<Connection> connection) {
  KvSession& session = connection->session;
  while (true) {
    KvSession::Wants wants = session.step();
    if (wants == KvSession::Wants::end) break;
    run_slow(*connection);
    if (wants == KvSession::Wants::turn) {
      co_await loop_.yield();
    } else if (wants == KvSession::Wants::soon) {
      co_await loop_.sleep(kMoment);
    } else {
      co_await connection->socket->stirred();
    }
  }
  connection->reason = session.closed_for();
}

void KvLane::run_slow(Connection& connection) {
  Slow slow = connection.session.take_slow();
  if (!slow) return;
  run_elsewhere_(std::move(slow), [this, id = connection.session.id()](std::string reply) {
    auto known = connections_.find(id);
    if (known == connections_.end()) return;  // it did not wait
    known->second->session.answer(std::move(reply));
    known->second->socket->stir();
  });
}

Task<void> KvLane::watch() {
  while (true) {
    co_await loop_.sleep(kLookEvery);
    for (auto& [id, connection] : connections_) {
      if (connection->session.look_at_clock(loop_.now())) connection->socket->stir();
    }
  }
}

}  // namespace specgen
