#include "kvcache/node_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "kvcache/kv_store.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxLine = 64 << 10;

std::unexpected<Error> unreachable(const KvAddress& address, std::string_view why) {
  return fail(ErrorCode::endpoint_unreachable, fmt::format("{}: {}", address.text(), why),
              "check the address, and that a specgen-node with --kv listens there");
}

void set_patience(int fd, Duration patience) {
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  timeval limit{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // also for connect()
}

Result<Fd> connect_unix(const KvAddress& address, Duration patience) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("socket", errno);
  set_patience(fd.get(), patience);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.path.data(),
              std::min(address.path.size(), sizeof name.sun_path - 1));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return unreachable(address, std::strerror(errno));
  }
  return fd;
}

Result<Fd> connect_tcp(const KvAddress& address, Duration patience) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) return unreachable(address, ::gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    Fd fd(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail_errno("socket", errno);
    set_patience(fd.get(), patience);
    int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    last_error = errno;
  }
  return unreachable(address, std::strerror(last_error));
}

std::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorCode::stream_broken, std::string(what));
}

std::unexpected<Error> not_a_reply(std::string_view line) {
  return fail(ErrorCode::bad_message,
              fmt::format("'{}' is not the reply that was expected", line.substr(0, 100)),
              "check that a specgen-node with --kv listens there");
}

}  // namespace

Result<NodeClient> NodeClient::connect(const KvAddress& address, Duration patience) {
  Fd fd = TRY(address.is_unix() ? connect_unix(address, patience) : connect_tcp(address, patience));
  return NodeClient(std::move(fd));
}

Result<void> NodeClient::send(std::string_view head, std::string_view value,
                              std::string_view tail) {
  std::array<iovec, 3> parts{};
  std::array<std::string_view, 3> left{head, value, tail};
  while (!left[0].empty() || !left[1].empty() || !left[2].empty()) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = {const_cast<char*>(left[i].data()), left[i].size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return broken(fmt::format("send: {}", std::strerror(errno)));
    auto taken = static_cast<std::size_t>(sent);
    for (std::string_view& part : left) {
      std::size_t here = std::min(taken, part.size());
      part.remove_prefix(here);
      taken -= here;
    }
  }
  return {};
}

Result<std::string> NodeClient::read_line() {
  while (true) {
    if (std::size_t end = buffered_.find("\r\n"); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 2);
      return line;
    }
    if (buffered_.size() > kMaxLine) return not_a_reply(buffered_);
    char some[256];  // small: bytes behind the header are copied again
    ssize_t n = ::recv(socket_.get(), some, sizeof some, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) return broken("the node closed the connection");
    if (n < 0) return broken(fmt::format("receive: {}", std::strerror(errno)));
    buffered_.append(some, static_cast<std::size_t>(n));
  }
}

Result<void> NodeClient::read_exactly(std::span<char> target) {
  std::size_t at = std::min(buffered_.size(), target.size());
  std::memcpy(target.data(), buffered_.data(), at);
  buffered_.erase(0, at);
  while (at < target.size()) {
    ssize_t n = ::recv(socket_.get(), target.data() + at, target.size() - at, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) return broken("the node closed the connection inside a value");
    if (n < 0) return broken(fmt::format("receive: {}", std::strerror(errno)));
    at += static_cast<std::size_t>(n);
  }
  return {};
}

Result<std::optional<std::size_t>> NodeClient::read_bulk_header() {
  std::string line = TRY(read_line());
  if (line == "$-1" || line == "_") return std::nullopt;
  std::size_t bytes = 0;
  if (line.empty() || line[0] != '$') return not_a_reply(line);
  auto [stop, error] = std::from_chars(line.data() + 1, line.data() + line.size(), bytes);
  if (error != std::errc() || stop != line.data() + line.size() || bytes > kMaxValueBytes) {
    return not_a_reply(line);
  }
  return bytes;
}

Result<void> NodeClient::authenticate(std::string_view password) {
  TRY(request({"AUTH", std::string(password)}));
  return {};
}

Result<void> NodeClient::set(std::string_view key, std::string_view value) {
  TRY(send(fmt::format("*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n", key.size(), key, value.size()),
           value, "\r\n"));
  std::string line = TRY(read_line());
  if (line != "+OK") return not_a_reply(line);
  return {};
}

Result<bool> NodeClient::get(std::string_view key, std::span<char> target) {
  TRY(send(fmt::format("*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key)));
  auto bytes = TRY(read_bulk_header());
  if (!bytes) return false;
  if (*bytes != target.size()) return not_a_reply(fmt::format("a value of {} bytes", *bytes));
  TRY(read_exactly(target));
  char end[2];
  TRY(read_exactly(end));
  return true;
}

Result<std::optional<std::string>> NodeClient::get(std::string_view key) {
  TRY(send(fmt::format("*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key)));
  auto bytes = TRY(read_bulk_header());
  if (!bytes) return std::nullopt;
  std::string value(*bytes + 2, '\0');
  TRY(read_exactly(value));
  if (!value.ends_with("\r\n")) return not_a_reply(value);
  value.resize(*bytes);
  return value;
}

Result<bool> NodeClient::exists(std::string_view key) {
  std::string count = TRY(request({"EXISTS", std::string(key)}));
  return count == "1";
}

Result<bool> NodeClient::remove(std::string_view key) {
  std::string count = TRY(request({"DEL", std::string(key)}));
  return count == "1";
}

Result<std::string> NodeClient::request(const std::vector<std::string>& arguments) {
  std::string request = fmt::format("*{}\r\n", arguments.size());
  for (const std::string& argument : arguments)
    request += fmt::format("${}\r\n{}\r\n", argument.size(), argument);
  TRY(send(request));
  std::string line = TRY(read_line());
  if (line.empty()) return not_a_reply(line);
  if (line[0] == '-') {
    return fail(ErrorCode::bad_message, fmt::format("the node replied: {}", line.substr(1)),
                "give a password with --password-file if the node requires one");
  }
  if (line[0] != '$') return line.substr(1);
  std::size_t bytes = 0;
  auto [stop, error] = std::from_chars(line.data() + 1, line.data() + line.size(), bytes);
  if (error != std::errc() || bytes > kMaxValueBytes) return not_a_reply(line);
  std::string value(bytes + 2, '\0');
  TRY(read_exactly(value));
  value.resize(bytes);
  return value;
}

}  // namespace specgen
