#include "kvcache/kv_listen.h"
#include "runtime/listen_error.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

namespace specgen {
namespace {

constexpr int kBacklog = 4096;
constexpr std::string_view kPathPrefix = "unix:";
constexpr std::string_view kAdvice =
    "write HOST:PORT, such as 127.0.0.1:6380, or unix:PATH, such as unix:/run/specgen-kv.sock";

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    auto host = ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
    return (host >> 24) == 127;
  }
  const in6_addr& host = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&host);
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  bool is_v6 = address.ss_family == AF_INET6;
  return ntohs(is_v6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                     : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

bool is_listening(const sockaddr_un& address) {
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe &&
         ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<KvListening> KvListening::open(std::string_view address) {
  if (address.starts_with(kPathPrefix)) {
    return open_path(std::string(address.substr(kPathPrefix.size())));
  }
  return open_port(address);
}

Result<KvListening> KvListening::open_path(std::string path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::bad_usage,
                fmt::format("'unix:{}' is not a valid socket path: it must have 1 to {} bytes",
                            path, sizeof address.sun_path - 1),
                std::string(kAdvice));
  }
  path.copy(address.sun_path, path.size());
  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode) || is_listening(address)) return fail_to_listen(path, EADDRINUSE);
    ::unlink(path.c_str());
  }
  KvListening opened;
  opened.fd_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Before it listens, so that no other user can connect while the file has the default mode.
  bool is_bound = opened.fd_ && ::bind(opened.get(), reinterpret_cast<const sockaddr*>(&address),
                                       sizeof address) == 0;
  if (is_bound) opened.path_ = path;
  if (!is_bound || ::chmod(path.c_str(), 0600) != 0 || ::listen(opened.get(), kBacklog) != 0) {
    return fail_to_listen(path, errno);
  }
  opened.address_ = std::string(kPathPrefix) + path;
  return opened;
}

Result<KvListening> KvListening::open_port(std::string_view text) {
  std::size_t colon = text.rfind(':');
  std::string host(text.substr(0, colon == text.npos ? 0 : colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::string port(colon == text.npos ? std::string_view() : text.substr(colon + 1));
  int number = -1;
  auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  bool is_port =
      error == std::errc() && rest == port.data() + port.size() && number >= 0 && number <= 65535;
  if (host.empty() || !is_port) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is not an address to listen on", text),
                std::string(kAdvice));
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int failure = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (failure != 0) {
    return fail(ErrorCode::address_in_use, fmt::format("{}: {}", text, ::gai_strerror(failure)),
                "use an address of this host, such as 127.0.0.1");
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  int error_number = EADDRNOTAVAIL;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    KvListening opened;
    opened.fd_ = Fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int yes = 1;
    if (opened.fd_ && ::setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(opened.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(opened.get(), kBacklog) == 0) {
      opened.port_ = port_of(opened.get());
      opened.is_local_ = is_loopback(one->ai_addr);
      opened.address_ = fmt::format("{}:{}", text.substr(0, colon), opened.port_);
      return opened;
    }
    error_number = errno;
  }
  return fail_to_listen(text, error_number);
}

KvListening::~KvListening() {
  // Empty after a move.
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace specgen
