#pragma once
// For tests: a client that reads like the native client of LMCache, the least tolerant one: blocking calls, fixed
// numbers of bytes, no handling of unexpected replies.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/file.h"

namespace specgen::kv_testing {

class NativeClient {
 public:
  static NativeClient to_port(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  static NativeClient to_path(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }

  // False: the reply differs from these bytes.
  bool set(std::string_view key, std::string_view value) {
    send("*3\r\n$3\r\nSET\r\n" + bulk(key) + "$" + std::to_string(value.size()) + "\r\n");
    send(value);
    send("\r\n");
    return receive(5) == "+OK\r\n";
  }
  std::optional<bool> exists(std::string_view key) { return flag("*2\r\n$6\r\nEXISTS\r\n", key); }
  std::optional<bool> del(std::string_view key) { return flag("*2\r\n$3\r\nDEL\r\n", key); }

  // Nothing: a miss. A length other than `bytes` counts as a broken connection.
  std::optional<std::string> get(std::string_view key, std::size_t bytes) {
    send("*2\r\n$3\r\nGET\r\n" + bulk(key));
    std::string header = receive(5);
    if (header == "$-1\r\n") return std::nullopt;
    while (!header.ends_with("\n") && !is_broken) header += receive(1);
    if (header != "$" + std::to_string(bytes) + "\r\n") {
      is_broken = true;
      return std::nullopt;
    }
    std::string value = receive(bytes);
    if (receive(2) != "\r\n") is_broken = true;
    return value;
  }

  void send(std::string_view bytes) {
    if (write_all(fd.get(), bytes) != 0) is_broken = true;
  }
  std::string receive(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      ssize_t n = ::recv(fd.get(), text.data() + got, bytes - got, 0);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    if (got < bytes) is_broken = true;
    text.resize(got);
    return text;
  }
  // Whether the server closes within ten seconds; earlier data is discarded.
  bool is_closed() {
    char scratch[65536];
    while (true) {
      ssize_t n = ::recv(fd.get(), scratch, sizeof scratch, 0);
      if (n > 0) continue;
      return n == 0 || errno == ECONNRESET;
    }
  }

  Fd fd;
  bool is_broken = false;

 private:
  explicit NativeClient(Fd its_fd) : fd(std::move(its_fd)) {}

  static NativeClient connected(int family, const sockaddr* address, socklen_t length) {
    Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bool is_there = ::connect(fd.get(), address, length) == 0;
    SG_ASSERT(is_there, "the server is not running");
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return NativeClient(std::move(fd));
  }
  static std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  }
  std::optional<bool> flag(std::string_view command, std::string_view key) {
    send(std::string(command) + bulk(key));
    std::string reply = receive(4);
    if (reply == ":1\r\n") return true;
    if (reply == ":0\r\n") return false;
    is_broken = true;
    return std::nullopt;
  }
};

}  // namespace specgen::kv_testing
