#include "runtime/message_socket.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace specgen {
namespace {

constexpr std::size_t kMaxBody = std::size_t{16} << 20;
constexpr std::size_t kMaxDescriptors = 250;  // the kernel's limit is 253

// Precedes every message; the descriptors arrive with its first byte.
struct Header {
  std::uint32_t body_bytes;
  std::uint32_t descriptors;
};

Result<std::string> framed(std::string_view body, std::size_t descriptors) {
  if (body.size() > kMaxBody || descriptors > kMaxDescriptors) {
    return fail(ErrorCode::bad_message, "a message is too large to be sent");
  }
  Header header{static_cast<std::uint32_t>(body.size()), static_cast<std::uint32_t>(descriptors)};
  std::string frame(sizeof header, '\0');
  std::memcpy(frame.data(), &header, sizeof header);
  frame += body;
  return frame;
}

// Bytes sent, or -errno. The descriptors are sent with the first byte.
ssize_t send_part(int fd, std::string_view bytes, std::span<const int> descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

// Bytes read, 0 at the end, or -errno.
ssize_t receive_part(int fd, std::string& into, std::vector<Fd>& descriptors) {
  std::array<char, 1 << 16> bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return -errno;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof number);
      descriptors.emplace_back(number);
    }
  }
  into.append(bytes.data(), static_cast<std::size_t>(n));
  return n;
}

// The first complete message in the buffer, if there is one.
Result<std::optional<SocketMessage>> take_message(std::string& buffered,
                                                  std::vector<Fd>& descriptors) {
  Header header{};
  if (buffered.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, buffered.data(), sizeof header);
  if (header.body_bytes > kMaxBody || header.descriptors > kMaxDescriptors) {
    return fail(ErrorCode::bad_message, fmt::format("a message of {} bytes with {} descriptors",
                                                    header.body_bytes, header.descriptors));
  }
  if (buffered.size() < sizeof header + header.body_bytes) return std::nullopt;
  if (descriptors.size() < header.descriptors) {
    return fail(ErrorCode::bad_message, "a message arrived without its descriptors");
  }
  SocketMessage message{buffered.substr(sizeof header, header.body_bytes)};
  buffered.erase(0, sizeof header + header.body_bytes);
  auto mine = descriptors.begin() + static_cast<std::ptrdiff_t>(header.descriptors);
  message.descriptors.assign(std::make_move_iterator(descriptors.begin()),
                             std::make_move_iterator(mine));
  descriptors.erase(descriptors.begin(), mine);
  return message;
}

// At the end of the stream: nullopt between messages, an error inside one.
Result<std::optional<SocketMessage>> at_end(const std::string& buffered) {
  if (buffered.empty()) return std::nullopt;
  return fail(ErrorCode::bad_message, "the other end closed in the middle of a message");
}

bool peer_closed(ssize_t result) {
  return result == -ECONNRESET || result == -EPIPE;
}

}  // namespace

Result<std::pair<MessageSocket, Fd>> MessageSocket::make_pair(Loop& loop, RealDriver& driver) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno("socketpair", errno);
  }
  Fd child(ends[1]);
  auto ours = TRY(AsyncFd::open(loop, driver, Fd(ends[0])));
  return std::pair{MessageSocket(std::move(ours)), std::move(child)};
}

Task<Result<void>> MessageSocket::send(std::string body, std::vector<int> descriptors) {
  std::string frame = CO_TRY(framed(body, descriptors.size()));
  std::string_view left = frame;
  while (!left.empty()) {
    ssize_t sent = send_part(fd_->get(), left, descriptors);
    if (sent == -EAGAIN) {
      co_await fd_->wait_writable();
    } else if (sent == -EINTR) {
      continue;
    } else if (sent < 0) {
      co_return fail_errno("send", static_cast<int>(-sent));
    } else {
      left.remove_prefix(static_cast<std::size_t>(sent));
      descriptors.clear();
    }
  }
  co_return Result<void>();
}

Task<Result<std::optional<SocketMessage>>> MessageSocket::receive() {
  while (true) {
    auto message = CO_TRY(take_message(buffered_, descriptors_));
    if (message) co_return std::move(message);
    ssize_t n = receive_part(fd_->get(), buffered_, descriptors_);
    if (n == -EAGAIN) {
      co_await fd_->wait_readable();
    } else if (n == 0 || peer_closed(n)) {
      co_return at_end(buffered_);
    } else if (n < 0 && n != -EINTR) {
      co_return fail_errno("receive", static_cast<int>(-n));
    }
  }
}

Result<void> send_message(int fd, std::string_view body, std::span<const int> descriptors) {
  std::string frame = TRY(framed(body, descriptors.size()));
  std::string_view left = frame;
  while (!left.empty()) {
    ssize_t sent = send_part(fd, left, descriptors);
    if (sent == -EINTR) continue;
    if (sent < 0) return fail_errno("send", static_cast<int>(-sent));
    left.remove_prefix(static_cast<std::size_t>(sent));
    descriptors = {};
  }
  return {};
}

bool MessageReader::is_waiting(int timeout_ms) const {
  if (!buffered_.empty()) return true;
  pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, timeout_ms) > 0;
}

Result<std::optional<SocketMessage>> MessageReader::receive() {
  while (true) {
    auto message = TRY(take_message(buffered_, descriptors_));
    if (message) return message;
    ssize_t n = receive_part(fd_, buffered_, descriptors_);
    if (n == 0 || peer_closed(n)) return at_end(buffered_);
    if (n < 0 && n != -EINTR) return fail_errno("receive", static_cast<int>(-n));
  }
}

}  // namespace specgen
