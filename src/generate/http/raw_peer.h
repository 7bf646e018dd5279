#pragma once
// For tests: the other end of a connection, byte by byte, so that it can misbehave.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "runtime/async_fd.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"

namespace specgen {

class RawPeer {
 public:
  RawPeer(Loop& loop, RealDriver& driver, Fd fd)
      : socket_(AsyncFd::open(loop, driver, std::move(fd)).value()) {}

  static RawPeer connect(Loop& loop, RealDriver& driver, int port) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    SG_ASSERT(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
              "connect() failed");  // the backlog accepts it: the server task need not run
    return RawPeer(loop, driver, std::move(fd));
  }

  Task<bool> send(std::string bytes) { co_return (co_await socket_->write_all(bytes)).has_value(); }
  // Some bytes; empty at the end, or after a reset.
  Task<std::string> receive() {
    std::array<char, 4096> buffer;
    auto n = co_await socket_->read_some(buffer);
    co_return n ? std::string(buffer.data(), *n) : std::string();
  }
  // Everything up to and including `mark`, or to the end.
  Task<std::string> receive_until(std::string mark) {
    std::string all;
    while (!all.contains(mark)) {
      std::string some = co_await receive();
      if (some.empty()) break;
      all += some;
    }
    co_return all;
  }
  Task<std::string> receive_all() {
    std::string all;
    while (true) {
      std::string some = co_await receive();
      if (some.empty()) co_return all;
      all += some;
    }
  }
  void finish_sending() { ::shutdown(socket_->get(), SHUT_WR); }
  void close() { socket_.reset(); }
  void reset() {
    linger abrupt{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_->get(), SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    socket_.reset();
  }

 private:
  std::unique_ptr<AsyncFd> socket_;
};

class RawListener {
 public:
  RawListener(Loop& loop, RealDriver& driver) : loop_(loop), driver_(driver) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    SG_ASSERT(::bind(fd.get(), plain, length) == 0 && ::listen(fd.get(), 1024) == 0 &&
                  ::getsockname(fd.get(), plain, &length) == 0,
              "there is no loopback");
    port_ = ntohs(address.sin_port);
    listening_ = AsyncFd::open(loop, driver, std::move(fd)).value();
  }

  int port() const { return port_; }
  std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  Task<RawPeer> accept() {
    while (true) {
      Fd fd(::accept4(listening_->get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (fd) co_return RawPeer(loop_, driver_, std::move(fd));
      co_await listening_->wait_readable();
    }
  }

 private:
  Loop& loop_;
  RealDriver& driver_;
  int port_ = 0;
  std::unique_ptr<AsyncFd> listening_;
};

}  // namespace specgen
