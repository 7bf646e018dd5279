#include "generate/http/http_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "generate/http/http_connection.h"
#include "runtime/async_fd.h"
#include "runtime/listen_error.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

struct Address {
  std::string host;
  std::string port;
};

Result<Address> parse_address(std::string_view text) {
  auto colon = text.rfind(':');
  bool bracketed = text.starts_with('[');
  Address address;
  if (colon != text.npos) {
    std::string_view host = text.substr(0, colon);
    if (bracketed) {
      host = host.ends_with(']') ? host.substr(1, host.size() - 2) : std::string_view();
    } else if (host.contains(':')) {
      host = {};  // IPv6 without brackets: the port is ambiguous
    }
    address = {std::string(host), std::string(text.substr(colon + 1))};
  }
  int port = -1;
  const char* end = address.port.data() + address.port.size();
  auto [rest, error] = std::from_chars(address.port.data(), end, port);
  bool good_port = error == std::errc() && rest == end && port >= 0 && port <= 65535;
  if (address.host.empty() || !good_port) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not an address to listen on", text),
                "write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080, or 0.0.0.0:8080 for all");
  }
  return address;
}

Result<Fd> listening_socket(std::string_view text) {
  Address address = TRY(parse_address(text));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int failure = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &wanted, &found);
  if (failure != 0) {
    return fail(ErrorCode::address_in_use, fmt::format("{}: {}", text, ::gai_strerror(failure)),
                "use an address of this host, such as 127.0.0.1");
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  int error_number = EADDRNOTAVAIL;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    Fd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int yes = 1;
    if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd.get(), 4096) == 0) {
      return fd;
    }
    error_number = errno;
  }
  return fail_to_listen(text, error_number);
}

Result<int> port_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return fail_errno("getsockname", errno);
  }
  bool v6 = address.ss_family == AF_INET6;
  return ntohs(v6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                  : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

class ListeningServer final : public HttpServer {
 public:
  ListeningServer(Loop& loop, RealDriver& driver, std::unique_ptr<AsyncFd> listening, int port,
                  Handler handler, HttpServerLimits limits)
      : loop_(loop),
        driver_(driver),
        listening_(std::move(listening)),
        port_(port),
        handler_(std::move(handler)),
        limits_(limits) {}

  int port() const override { return port_; }

  Task<Result<void>> serve() override {
    TaskGroup connections(loop_, limits_.connections + 1);
    constexpr int kMaxAcceptsInARow = 16;
    for (int in_a_row = 0;; ++in_a_row) {
      if (in_a_row == kMaxAcceptsInARow) {
        in_a_row = 0;
        co_await loop_.yield();
      }
      Fd accepted(::accept4(listening_->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (accepted) {
        admit(std::move(accepted), connections);
      } else if (errno == EAGAIN) {
        co_await listening_->wait_readable();
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        co_await loop_.sleep(100ms);  // until descriptors or memory are free again
      } else if (errno != EINTR && errno != ECONNABORTED && errno != EPROTO) {
        co_return fail_errno("accept", errno);
      }
    }
  }

 private:
  void admit(Fd accepted, TaskGroup& connections) {
    if (connections.size() >= limits_.connections) {
      std::string answer = http_error_answer(503, "too many connections are open");
      ::send(accepted.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return;
    }
    int yes = 1;  // tokens are small and must be sent at once
    ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    auto socket = AsyncFd::open(loop_, driver_, std::move(accepted));
    if (!socket) return;  // out of resources; the client sees the connection close
    connections.spawn(serve_http_connection(loop_, std::move(*socket), handler_, limits_));
  }

  Loop& loop_;
  RealDriver& driver_;
  std::unique_ptr<AsyncFd> listening_;
  int port_;
  Handler handler_;
  HttpServerLimits limits_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(Loop& loop, RealDriver& driver,
                                                       std::string_view address, Handler handler,
                                                       HttpServerLimits limits) {
  Fd fd = TRY(listening_socket(address));
  int port = TRY(port_of(fd.get()));
  auto listening = TRY(AsyncFd::open(loop, driver, std::move(fd)));
  return std::make_unique<ListeningServer>(loop, driver, std::move(listening), port,
                                           std::move(handler), limits);
}

}  // namespace specgen
