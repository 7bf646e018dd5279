#include "kvcache/kv_socket.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxPieces = 4;

// These calls fail on a local socket, which does not need them.
void set_up(int fd) {
  int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // Pacing, which some systems do by default, gains nothing within a host.
  constexpr std::string_view kUnpaced = "reno";
  std::string peer = peer_of(fd);
  if (peer.starts_with("127.") || peer == "::1") {
    ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
  }
}

}  // namespace

Result<std::unique_ptr<KvSocket>> KvSocket::open(Loop& loop, RealDriver& driver, Fd fd) {
  set_up(fd.get());
  std::unique_ptr<KvSocket> opened(new KvSocket(loop, driver, std::move(fd)));
  auto added = driver.add(opened->get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, *opened);
  if (!added) {
    opened->fd_.reset();  // the destructor must not remove it
    return std::unexpected(std::move(added).error());
  }
  return opened;
}

KvSocket::KvSocket(Loop& loop, RealDriver& driver, Fd fd)
    : driver_(driver), fd_(std::move(fd)), changed_(loop) {}

KvSocket::~KvSocket() {
  if (fd_) driver_.remove(fd_.get());
}

void KvSocket::on_ready(std::uint32_t epoll_events) {
  if (epoll_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) is_hung_up_ = true;
  if (epoll_events & EPOLLIN || is_hung_up_) is_readable_ = true;
  if (epoll_events & EPOLLOUT || is_hung_up_) is_writable_ = true;
  changed_.set();
}

ByteStream::Moved KvSocket::receive(std::span<const std::span<char>> buffers) {
  if (!is_readable_) return {};
  SG_ASSERT(buffers.size() <= kMaxPieces, "too many pieces for one call");
  std::array<iovec, kMaxPieces> vectors{};
  std::size_t wanted = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    vectors[i] = {buffers[i].data(), buffers[i].size()};
    wanted += buffers[i].size();
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = buffers.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) {
    is_readable_ = false;
    return {};
  }
  if (n <= 0) return {Status::ended, 0};
  auto bytes = static_cast<std::size_t>(n);
  // A short read: the next byte will be an event, and so was the end of the stream.
  if (bytes < wanted && !is_hung_up_) is_readable_ = false;
  return {Status::moved, bytes};
}

ByteStream::Moved KvSocket::send(std::span<const std::string_view> pieces) {
  if (!is_writable_) return {};
  SG_ASSERT(pieces.size() <= kMaxPieces, "too many pieces for one call");
  std::array<iovec, kMaxPieces> vectors{};
  std::size_t count = 0, wanted = 0;
  for (std::string_view piece : pieces) {
    if (piece.empty()) continue;
    vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
    wanted += piece.size();
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  ssize_t n = 0;
  do {
    n = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) {
    is_writable_ = false;
    return {};
  }
  if (n < 0) return {Status::ended, 0};
  auto bytes = static_cast<std::size_t>(n);
  if (bytes < wanted) is_writable_ = false;
  return {Status::moved, bytes};
}

std::size_t KvSocket::unacknowledged() const {
  int unsent = 0;
  return ::ioctl(fd_.get(), SIOCOUTQ, &unsent) == 0 && unsent > 0 ? static_cast<std::size_t>(unsent)
                                                                  : 0;
}

std::string peer_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "gone";
  char text[INET6_ADDRSTRLEN] = "unix";
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace specgen
