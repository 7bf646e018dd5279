// The HTTP client under the load of a large run: a thousand token streams from a server process on the other core.

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>

#include "base/file.h"
#include "base/units.h"
#include "figures.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"
#include "runtime/race.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr int kStreams = 1'000;
constexpr Duration kPause = 20ms;  // 50 chunks/s
constexpr Duration kWindow = 5s;
constexpr int kCancels = 500;

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// --- the server process

// Streams events that contain their send time; on /watched it also reports when its client disconnected.
class TokenServer {
 public:
  TokenServer(Loop& loop, int report) : loop_(loop), report_(report) {}

  Task<Result<void>> handle(HttpServerRequest request, HttpReply& reply) {
    struct Report {
      int fd;
      ~Report() {
        if (fd < 0) return;
        std::int64_t when = now_ns();
        [[maybe_unused]] ssize_t n = ::write(fd, &when, sizeof when);
      }
    } report{request.path == "/watched" ? report_ : -1};
    CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/event-stream"}}));
    // Each stream has a phase of its own, as in practice.
    phase_ = (phase_ + 7'919'000) % kPause.count();
    Time next = loop_.now() + Duration(phase_);
    while (true) {
      co_await loop_.sleep_until(next);
      next += kPause;
      CO_TRY(co_await reply.write(fmt::format(
          "data: {{\"sent\":{:020},\"choices\":[{{\"delta\":{{\"content\":\" token\"}}}}]}}\n\n",
          now_ns())));
    }
  }

 private:
  Loop& loop_;
  int report_;
  std::int64_t phase_ = 0;
};

[[noreturn]] void be_the_server(int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to(1);
  RealDriver driver(1);
  Loop loop(driver);
  TokenServer tokens(loop, report);
  auto server = HttpServer::listen(loop, driver, "127.0.0.1:0",
                                   std::bind_front(&TokenServer::handle, &tokens));
  std::int64_t port = server ? (*server)->port() : 0;
  if (::write(report, &port, sizeof port) != sizeof port || port == 0) ::_exit(1);
  (void)loop.run((*server)->serve());
  ::_exit(1);
}

// --- the client

struct Counted {
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;
  std::vector<double> added_ms;
  bool measuring = false;
};

void count(std::string_view piece, std::int64_t heard, Counted& counted) {
  constexpr std::string_view kMark = "\"sent\":";
  for (auto at = piece.find(kMark); at != piece.npos; at = piece.find(kMark, at + 1)) {
    ++counted.chunks;
    std::int64_t sent = 0;
    const char* digits = piece.data() + at + kMark.size();
    std::from_chars(digits, piece.data() + piece.size(), sent);
    if (counted.measuring) counted.added_ms.push_back(static_cast<double>(heard - sent) / 1e6);
  }
  counted.bytes += piece.size();
}

Task<Result<void>> follow(std::unique_ptr<HttpExchange> exchange, Counted& counted) {
  while (auto piece = CO_TRY(co_await exchange->read())) count(*piece, now_ns(), counted);
  co_return Result<void>();
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  std::string text = read_file("/proc/self/statm").value();
  double pages = 0;
  auto space = text.find(' ');
  std::from_chars(text.data() + space + 1, text.data() + text.size(), pages);
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct Busy {
  double cores = 0;
  double chunks_per_s = 0;
  double bytes_per_stream = 0;
  std::vector<double> added_ms;
  std::vector<double> cancel_ms;
};

// One stream after another is dropped under full load; the server reports when it sees the end.
Task<std::vector<double>> cancel_streams(Loop& loop, HttpClient& client, std::string url,
                                         int report) {
  std::vector<double> delays_ms;
  for (int i = 0; i < kCancels; ++i) {
    auto exchange = client.send({.url = url});
    auto first = co_await exchange->read();
    if (!first || !*first) co_return delays_ms;
    co_await loop.sleep(1ms);
    std::int64_t dropped = now_ns(), seen = 0;
    exchange.reset();
    while (::recv(report, &seen, sizeof seen, MSG_DONTWAIT) != sizeof seen)
      co_await loop.sleep(1ms);
    delays_ms.push_back(static_cast<double>(seen - dropped) / 1e6);
  }
  co_return delays_ms;
}

Task<Result<Busy>> run_streams(Loop& loop, RealDriver& driver, int port, int report) {
  std::string url = fmt::format("http://127.0.0.1:{}", port);
  auto client = CO_TRY(HttpClient::open(loop, driver));
  Counted counted;
  Busy busy;
  TaskGroup group(loop);
  {
    auto first = client->send({.url = url + "/"});  // excludes the one-time cost of a client
    CO_TRY(co_await first->head());
  }
  ::malloc_trim(0);
  double resident_before = resident_bytes();
  for (int i = 0; i < kStreams; ++i) {
    group.spawn(follow(client->send({.url = url + "/"}), counted));
    if (i % 50 == 0) co_await loop.sleep(5ms);
  }
  co_await loop.sleep(2s);
  busy.bytes_per_stream = (resident_bytes() - resident_before) / kStreams;
  counted.added_ms.reserve(1 << 20);
  std::uint64_t chunks_before = counted.chunks;
  double cpu_before = cpu_seconds();
  Stopwatch watch;
  counted.measuring = true;
  co_await loop.sleep(kWindow);
  counted.measuring = false;
  busy.cores = (cpu_seconds() - cpu_before) / watch.seconds();
  busy.chunks_per_s = static_cast<double>(counted.chunks - chunks_before) / watch.seconds();
  busy.added_ms = std::move(counted.added_ms);
  busy.cancel_ms = co_await cancel_streams(loop, *client, url + "/watched", report);
  if (group.closed()) CO_TRY(co_await group.join());
  group.cancel();
  (void)co_await group.join();
  co_return busy;
}

Result<Busy> measure(int report) {
  std::int64_t port = 0;
  if (::recv(report, &port, sizeof port, MSG_WAITALL) != sizeof port) {
    return fail(ErrorCode::address_in_use, "the server of the benchmark does not start");
  }
  RealDriver driver(1);
  Loop loop(driver);
  // On a busy machine the streams would fall behind forever.
  return loop.run(with_timeout(loop, 60s, run_streams(loop, driver, static_cast<int>(port), report),
                               "this machine is too busy"));
}

}  // namespace

void bench_generate() {
  heading("HTTP client: 1,000 streams with 50 chunks/s each, the server on the other core");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  Fd ours(ends[0]), theirs(ends[1]);
  pid_t server = ::fork();
  if (server == 0) be_the_server(theirs.get());
  theirs.reset();
  cpu_set_t everywhere;
  ::sched_getaffinity(0, sizeof everywhere, &everywhere);
  pin_to(0);
  Result<Busy> busy = measure(ours.get());
  ::sched_setaffinity(0, sizeof everywhere, &everywhere);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  if (!busy) {
    note("this part failed", busy.error().text());
    return;
  }
  at_most("processor time of the client", busy->cores, 1, fmt::format("{:.2f} cores", busy->cores),
          "1 core");
  note("chunks handled", format_count(busy->chunks_per_s) + "/s");
  at_most("memory of a stream beyond its text", busy->bytes_per_stream, 64 << 10,
          format_bytes({static_cast<std::uint64_t>(busy->bytes_per_stream)}), "64 KiB");
  double p99 = quantile(busy->added_ms, 0.99);
  at_most("sent to read, p99", p99, 5, fmt::format("{:.3f} ms", p99), "5 ms");
  note("  median", fmt::format("{:.3f} ms", quantile(busy->added_ms, 0.5)));
  double cancel = quantile(busy->cancel_ms, 0.99);
  at_most("cancel to the server seeing the end, p99", cancel, 5, fmt::format("{:.3f} ms", cancel),
          "5 ms");
  note("  the longest of " + std::to_string(busy->cancel_ms.size()),
       fmt::format("{:.3f} ms", quantile(busy->cancel_ms, 1)));
}

}  // namespace specgen
