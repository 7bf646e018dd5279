#include "kvcache/link_speed.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kValueBytes = 4 << 20;
constexpr int kValues = 4;
constexpr std::int64_t kLongEnoughNs = 1'000'000'000;  // one value is enough on a slow link

double rate(double bytes, std::int64_t ns) {
  return bytes / (1e-9 * static_cast<double>(std::max<std::int64_t>(ns, 1)));
}

}  // namespace

Result<LinkSpeed> measure_link(NodeClient& node) {
  const std::string value(kValueBytes, 'p');
  std::string came(kValueBytes, '\0');
  // Unique keys; the values are deleted in any case.
  const std::string name = fmt::format("specgen-link-{}-{}", ::getpid(), stopwatch_ns());
  LinkSpeed speed;
  double set_bytes = 0, get_bytes = 0;
  std::int64_t set_ns = 0, get_ns = 0;
  for (int i = 0; i < kValues && set_ns + get_ns < kLongEnoughNs; ++i) {
    std::string key = fmt::format("{}-{}", name, i);
    std::int64_t start = stopwatch_ns();
    TRY(node.set(key, value));
    set_ns += stopwatch_ns() - start;
    set_bytes += kValueBytes;
    start = stopwatch_ns();
    if (TRY(node.get(key, came))) {
      get_ns += stopwatch_ns() - start;
      get_bytes += kValueBytes;
    }
    TRY(node.remove(key));
  }
  speed.set_bytes_per_s = rate(set_bytes, set_ns);
  if (get_bytes > 0) speed.get_bytes_per_s = rate(get_bytes, get_ns);
  return speed;
}

Result<double> loopback_bytes_per_s() {
  constexpr std::size_t kPiece = 128 << 10, kWarm = 8 << 20, kMeasured = 128 << 20;
  constexpr std::size_t kMemory = 64 << 20;
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Fd sender(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  bool made = listener && sender && ::bind(listener.get(), address, size) == 0 &&
              ::listen(listener.get(), 1) == 0 &&
              ::getsockname(listener.get(), address, &size) == 0 &&
              ::connect(sender.get(), address, size) == 0;
  if (!made) return fail_errno("loopback", errno);
  Fd receiver(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!receiver) return fail_errno("accept", errno);
  // Large enough not to measure the cache of the processor.
  std::string from(kMemory, 'p'), to(kMemory, ' ');
  std::int64_t start = 0;
  for (std::size_t sent = 0; sent < kWarm + kMeasured;) {
    if (start == 0 && sent >= kWarm) start = stopwatch_ns();
    std::size_t at = sent % (kMemory - kPiece);
    ssize_t n = ::send(sender.get(), from.data() + at, kPiece, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0) return fail_errno("send", errno);
    for (ssize_t left = n; left > 0;) {
      ssize_t got = ::recv(receiver.get(), to.data() + at, static_cast<std::size_t>(left), 0);
      if (got <= 0) return fail_errno("receive", errno);
      left -= got;
    }
    sent += static_cast<std::size_t>(n);
  }
  return rate(kMeasured, stopwatch_ns() - start);
}

}  // namespace specgen
