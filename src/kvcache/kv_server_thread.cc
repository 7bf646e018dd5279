#include "kvcache/kv_server_thread.h"

#include <sys/socket.h>

namespace specgen {
namespace {

constexpr Duration kCheckEvery = std::chrono::milliseconds(500);
constexpr Duration kSoon =
    std::chrono::microseconds(200);  // in which a device copies a few megabytes

}  // namespace

// Keeps the counters, also when the thread ends.
struct KvServerThread::Connection {
  Connection(KvServerThread& its_thread, std::unique_ptr<KvSocket> its_socket,
             std::unique_ptr<ByteStream> its_tls)
      : thread(its_thread),
        socket(std::move(its_socket)),
        tls(std::move(its_tls)),
        session(thread.service_, tls ? *tls : *socket, thread.buffers_,
                thread.service_.links.of(peer_of(socket->get())),
                [&loop = thread.loop_] { return loop.now(); }) {
    thread.connections_[session.id()] = this;
  }
  ~Connection() {
    thread.connections_.erase(session.id());
    --thread.service_.counters.open;
    ++thread.service_.counters.closed[static_cast<std::size_t>(reason)];
  }

  KvServerThread& thread;
  std::unique_ptr<KvSocket> socket;
  std::unique_ptr<ByteStream> tls;  // over the socket, if enabled
  KvSession session;
  KvClose reason = KvClose::server_ended;
};

KvServerThread::KvServerThread(Loop& loop, RealDriver& driver, KvService& service, const KvTls* tls,
                               RunElsewhere run_elsewhere)
    : loop_(loop),
      driver_(driver),
      service_(service),
      tls_(tls),
      run_elsewhere_(std::move(run_elsewhere)),
      tasks_(loop, service.limits.connections + 1) {}

KvServerThread::~KvServerThread() = default;

void KvServerThread::admit(Fd accepted) {
  auto socket = KvSocket::open(loop_, driver_, std::move(accepted));
  if (!socket) {  // out of a system resource; the client sees its connection closed
    --service_.counters.open;
    ++service_.counters.closed[static_cast<std::size_t>(KvClose::too_many)];
    return;
  }
  std::unique_ptr<ByteStream> tls = tls_ ? tls_->accept((*socket)->get()) : nullptr;
  tasks_.spawn(serve(std::make_unique<Connection>(*this, std::move(*socket), std::move(tls))));
}

Task<void> KvServerThread::serve(std::unique_ptr<Connection> connection) {
  KvSession& session = connection->session;
  while (true) {
    KvSession::Wants wants = session.step();
    if (wants == KvSession::Wants::end) break;
    run_slow(*connection);
    if (wants == KvSession::Wants::turn) {
      co_await loop_.yield();
    } else if (wants == KvSession::Wants::soon) {
      co_await loop_.sleep(kSoon);
    } else {
      co_await connection->socket->wait();
    }
  }
  connection->reason = session.closed_for();
}

void KvServerThread::run_slow(Connection& connection) {
  Slow slow = connection.session.take_slow();
  if (!slow) return;
  run_elsewhere_(std::move(slow), [this, id = connection.session.id()](std::string reply) {
    auto known = connections_.find(id);
    if (known == connections_.end()) return;  // the client has disconnected
    known->second->session.answer(std::move(reply));
    known->second->socket->wake();
  });
}

Task<void> KvServerThread::watch() {
  while (true) {
    co_await loop_.sleep(kCheckEvery);
    for (auto& [id, connection] : connections_) {
      if (connection->session.check_timeouts(loop_.now())) connection->socket->wake();
    }
  }
}

}  // namespace specgen
