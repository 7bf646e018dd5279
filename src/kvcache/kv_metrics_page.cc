#include "kvcache/kv_metrics_page.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/assert.h"
#include "kvcache/kv_metrics.h"
#include "runtime/async_fd.h"
#include "runtime/race.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxReaders = 32;
constexpr std::size_t kMaxHead = 8192;
constexpr Duration kLimit = 10s;

std::string answer_to(std::string_view head, const KvService& service) {
  auto answer = [](std::string_view status, std::string_view body) {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        status, body.size(), body);
  };
  if (!head.starts_with("GET ")) return answer("405 Method Not Allowed", "only GET is supported\n");
  std::string_view target = head.substr(4, head.find_first_of(" ?\r", 4) - 4);
  if (target != "/metrics") return answer("404 Not Found", "only /metrics exists\n");
  return answer("200 OK", metrics_text(service));
}

Task<Result<void>> answer_one(std::unique_ptr<AsyncFd> socket, const KvService& service) {
  std::string head;
  std::array<char, 1024> buffer;
  while (!head.contains("\r\n\r\n")) {
    std::size_t came = CO_TRY(co_await socket->read_some(buffer));
    head.append(buffer.data(), came);
    if (came == 0 || head.size() > kMaxHead) co_return Result<void>();
  }
  std::string answer = answer_to(head, service);
  co_return co_await socket->write_all(answer);
}

Task<void> answer_in_time(Loop& loop, std::unique_ptr<AsyncFd> socket, const KvService& service) {
  // On an invalid or slow request the connection is closed.
  (void)co_await with_timeout(loop, kLimit, answer_one(std::move(socket), service));
}

}  // namespace

Task<void> serve_metrics(Loop& loop, RealDriver& driver, Fd listening, const KvService& service) {
  auto listener = AsyncFd::open(loop, driver, std::move(listening));
  SG_ASSERT(listener, "a listening socket cannot be polled");
  TaskGroup readers(loop, kMaxReaders + 1);
  while (true) {
    Fd accepted(::accept4((*listener)->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted && readers.size() < kMaxReaders) {
      auto socket = AsyncFd::open(loop, driver, std::move(accepted));
      if (socket) readers.spawn(answer_in_time(loop, std::move(*socket), service));
    } else if (!accepted && errno == EAGAIN) {
      co_await (*listener)->wait_readable();
    } else if (!accepted) {
      co_await loop.sleep(100ms);
    }
  }
}

}  // namespace specgen
