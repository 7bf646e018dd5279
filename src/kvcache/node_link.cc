#include "kvcache/node_link.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "kvcache/chain_table.h"
#include "runtime/race.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectPatience = 1s;
constexpr Duration kPatience = 5s;  // without a byte: computing is faster by then
constexpr Duration kFirstPause = 50ms, kMaxPause = 2s;
constexpr Duration kTimeToRestart = 5s;  // after that its chains go to other nodes
constexpr std::size_t kMaxLine = 64 << 10;

std::int64_t ns(Time time) {
  return time.time_since_epoch().count();
}

}  // namespace

Result<std::unique_ptr<GatewayNode>> GatewayNode::find(const KvAddress& address, double weight) {
  auto node = std::make_unique<GatewayNode>();
  node->address_ = address;
  node->weight_ = weight;
  node->name_ = hash_of(address.text());
  if (address.is_unix()) {
    auto& place = reinterpret_cast<sockaddr_un&>(node->place_);
    place.sun_family = AF_UNIX;
    if (address.path.size() >= sizeof place.sun_path) {
      return fail(ErrorCode::bad_usage, fmt::format("'{}' is too long for a socket", address.path));
    }
    address.path.copy(place.sun_path, address.path.size());
    node->place_bytes_ = sizeof place;
    return node;
  }
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) {
    return fail(ErrorCode::endpoint_unreachable,
                fmt::format("{}: {}", address.text(), ::gai_strerror(error)));
  }
  std::memcpy(&node->place_, found->ai_addr, found->ai_addrlen);
  node->place_bytes_ = found->ai_addrlen;
  ::freeaddrinfo(found);
  return node;
}

bool GatewayNode::is_usable(Time now) const {
  std::int64_t since = lost_since_;
  return since == 0 || ns(now) - since < Duration(kTimeToRestart).count() || may_try(now);
}

bool GatewayNode::may_try(Time now) const {
  return ns(now) >= retry_at_;
}

void GatewayNode::begin_try(Time now) {
  if (is_lost()) retry_at_ = ns(now + kMaxPause);
}

void GatewayNode::lost(Time now) {
  std::int64_t none = 0;
  if (lost_since_.compare_exchange_strong(none, ns(now))) ++losses_;
  std::uint32_t failures = std::min<std::uint32_t>(++failures_, 10);
  Duration pause = std::min<Duration>(kFirstPause * (1 << (failures - 1)), kMaxPause);
  retry_at_ = ns(now + pause);
}

void GatewayNode::reached() {
  failures_ = 0;
  lost_since_ = 0;
  retry_at_ = 0;
}

void NodeLink::drop() {
  socket_.reset();
  inbox_.clear();
  node_.lost(loop_.now());
}

Task<bool> NodeLink::wait() {
  auto first = co_await race(socket_->wait(), loop_.sleep(kPatience));
  co_return first.first() != nullptr;
}

Task<bool> NodeLink::ready() {
  if (socket_) {
    // A node sends nothing between two requests. Closed: it may have been restarted, and is not lost.
    char byte = 0;
    ssize_t n = ::recv(socket_->get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN && inbox_.empty()) co_return true;
    socket_.reset();
    inbox_.clear();
  }
  if (!node_.may_try(loop_.now())) co_return false;
  node_.begin_try(loop_.now());
  if (!co_await connect()) {
    drop();
    co_return false;
  }
  if (!password_.empty()) {
    if (!co_await send(
            fmt::format("*2\r\n$4\r\nAUTH\r\n${}\r\n{}\r\n", password_.size(), password_))) {
      co_return false;
    }
    std::optional<std::string> answer = co_await receive_line();
    if (!answer || *answer != "+OK") {
      drop();
      co_return false;
    }
  }
  node_.reached();
  co_return true;
}

Task<bool> NodeLink::connect() {
  Fd fd(::socket(node_.place_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) co_return false;
  int number = fd.get();
  if (::connect(number, reinterpret_cast<const sockaddr*>(&node_.place_), node_.place_bytes_) !=
          0 &&
      errno != EINPROGRESS) {
    co_return false;
  }
  auto opened = KvSocket::open(loop_, driver_, std::move(fd));
  if (!opened) co_return false;
  auto first = co_await race((*opened)->wait(), loop_.sleep(kConnectPatience));
  int error = ETIMEDOUT;
  socklen_t bytes = sizeof error;
  if (first.first()) ::getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) co_return false;
  socket_ = std::move(*opened);
  co_return true;
}

Task<bool> NodeLink::send(std::string_view head, std::string_view body, std::string_view tail) {
  std::array<std::string_view, 3> left{head, body, tail};
  while (socket_ && std::ranges::any_of(left, [](auto part) { return !part.empty(); })) {
    ByteStream::Moved moved = socket_->send(left);
    if (moved.status == ByteStream::Status::blocked && co_await wait()) continue;
    if (moved.status != ByteStream::Status::moved) {
      drop();
      co_return false;
    }
    for (std::string_view& part : left) {
      std::size_t here = std::min(moved.bytes, part.size());
      part.remove_prefix(here);
      moved.bytes -= here;
    }
  }
  co_return socket_ != nullptr;
}

Task<std::size_t> NodeLink::receive_some(std::span<char> target) {
  if (!inbox_.empty()) {
    std::size_t bytes = std::min(target.size(), inbox_.size());
    std::memcpy(target.data(), inbox_.data(), bytes);
    inbox_.erase(0, bytes);
    co_return bytes;
  }
  while (socket_) {
    ByteStream::Moved moved = socket_->receive({&target, 1});
    if (moved.status == ByteStream::Status::moved) co_return moved.bytes;
    if (moved.status == ByteStream::Status::blocked && co_await wait()) continue;
    drop();
  }
  co_return 0;
}

Task<std::optional<std::string>> NodeLink::receive_line() {
  std::string came;
  while (true) {
    std::array<char, 256> some;  // small: bytes behind the line are copied again
    std::size_t bytes = co_await receive_some(some);
    if (bytes == 0) co_return std::nullopt;
    came.append(some.data(), bytes);
    if (std::size_t end = came.find("\r\n"); end != std::string::npos) {
      inbox_.insert(0, came, end + 2);
      came.resize(end);
      co_return came;
    }
    if (came.size() > kMaxLine) {
      drop();
      co_return std::nullopt;
    }
  }
}

}  // namespace specgen
