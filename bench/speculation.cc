// The latency of the controller with a hundred reasoning streams from a server process on the other core: from the
// last byte of a trigger to the request of its fork, and from the decision to stop to the closed stream, both as
// seen by the server. Both processes run at real-time priority where allowed, so that other programs are not
// measured; and idle cores are kept awake, since waking a sleeping virtual core depends on its host.

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <charconv>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>

#include "figures.h"
#include "generate/http/http_server.h"
#include "generate/open_model.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"
#include "speculate/iteration.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr int kStreams = 100;
constexpr Duration kPause = 20ms;  // 50 chunks/s
constexpr int kChunksPerTrigger = 40;
constexpr Duration kWindow = 15s;
constexpr Duration kBetweenStarts = 23ms;  // so that triggers do not coincide
constexpr Duration kJudging = 30ms;        // of the kernel of a fork, which then ends the reasoning
constexpr std::string_view kSent = "SENT:";
constexpr std::string_view kStream = "stream number ";

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::int64_t number_behind(std::string_view text, std::string_view mark) {
  auto at = text.rfind(mark);
  std::int64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
  }
  return number;
}

// A report of the server: the delay of a fork, or when it saw the end of a main stream.
struct ServerReport {
  std::int64_t is_fork = 0;
  std::int64_t stream = 0;
  std::int64_t ns = 0;
};

class ThinkingServer {
 public:
  ThinkingServer(Loop& loop, int report) : loop_(loop), report_(report) {}

  Task<Result<void>> handle(HttpServerRequest request, HttpReply& reply) {
    std::int64_t arrived = now_ns();
    CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/event-stream"}}));
    if (std::int64_t sent = number_behind(request.body, kSent); sent != 0) {
      send_report({.is_fork = 1, .ns = arrived - sent});
      CO_TRY(
          co_await send_delta(reply, "content",
                              "```cpp\nextern \"C\" void k(float* y, long n, void*, int, int) {\n"
                              "  y[0] = n;\n}\n```\n"));
      co_return co_await reply.write(
          "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
          "data: [DONE]\n\n");
    }
    struct LogOnDestroy {
      ThinkingServer& server;
      std::int64_t stream;
      ~LogOnDestroy() { server.send_report({.stream = stream, .ns = now_ns()}); }
    } farewell{*this, number_behind(request.body, kStream)};
    phase_ = (phase_ + 7'919'000) % kPause.count();
    Time next = loop_.now() + Duration(phase_);
    for (int chunk = 1;; ++chunk, next += kPause) {
      co_await loop_.sleep_until(next);
      std::string text = " and then the loop over columns follows";
      if (chunk % kChunksPerTrigger == 0) {
        text = fmt::format("\n\nI'll go with tiles of 64, {}{}.\n\n", kSent, now_ns());
      }
      CO_TRY(co_await send_delta(reply, "reasoning_content", text));
    }
  }

 private:
  Task<Result<void>> send_delta(HttpReply& reply, std::string_view field, std::string_view text) {
    Json delta{{"choices", {{{"index", 0}, {"delta", {{field, text}}}}}}};
    std::string event = "data: " + boost::json::serialize(delta) + "\n\n";
    co_return co_await reply.write(event);
  }
  void send_report(const ServerReport& report) {
    [[maybe_unused]] ssize_t n = ::write(report_, &report, sizeof report);
  }

  Loop& loop_;
  int report_;
  std::int64_t phase_ = 0;
};

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

bool set_policy(int policy, int priority) {
  sched_param parameter{};
  parameter.sched_priority = priority;
  return ::sched_setscheduler(0, policy, &parameter) == 0;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// Spins on a core whenever it is idle.
class Awake {
 public:
  explicit Awake(int core) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to(core);
    set_policy(SCHED_IDLE, 0);
    for (volatile bool ever = true; ever;) {
    }
    ::_exit(0);
  }
  Awake(const Awake&) = delete;
  ~Awake() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

[[noreturn]] void be_the_server(int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to(1);
  set_policy(SCHED_FIFO, 1);
  RealDriver driver(1);
  Loop loop(driver);
  ThinkingServer reasoning(loop, report);
  auto server = HttpServer::listen(loop, driver, "127.0.0.1:0",
                                   std::bind_front(&ThinkingServer::handle, &reasoning));
  ServerReport port{.ns = server ? (*server)->port() : 0};
  if (::write(report, &port, sizeof port) != sizeof port || port.ns == 0) ::_exit(1);
  (void)loop.run((*server)->serve());
  ::_exit(1);
}

// One stream after another; the kernel of the first fork ends each.
class Follower final : public CandidateSink {
 public:
  Follower(Loop& loop, Model& model, Triggers& triggers, Event& stop, int number)
      : loop_(loop),
        model_(model),
        triggers_(triggers),
        stop_(stop),
        number_(number),
        gate_({.first_after_tokens = 0, .gap_tokens = 0, .min_weight = 0, .free_tokens = 1 << 30}),
        stopping_({}, {}, totals_, totals_),
        judging_(loop) {}

  Task<void> follow() {
    while (!stop_.is_set()) {
      Request main;
      main.messages = {{Speaker::user, fmt::format("{}{} ", kStream, number_)}};
      main.purpose = "main";
      Iteration iteration({.loop = loop_,
                           .model = model_,
                           .sink = *this,
                           .gate = gate_,
                           .stopping = stopping_,
                           .triggers = &triggers_,
                           .stop = stop_},
                          {.id = {1},
                           .main = std::move(main),
                           .backend = "cpu",
                           .parent = {},
                           .speculation = {.harvest = false}});
      iteration_ = &iteration;
      IterationReport report = co_await iteration.run();
      iteration_ = nullptr;
      if (report.end == IterationEnd::failed) problem = report.note;
      if (report.end == IterationEnd::stopped) stopped_ns.push_back(decided_ns_);
    }
  }

  CandidateId submit(IterationId, FoundKernel) override {
    CandidateId id{++last_};
    if (last_at_work_) return id;
    last_at_work_ = true;
    judging_.spawn(judge(id));
    return id;
  }
  bool may_spend(std::int64_t) const override { return true; }
  std::optional<RepairPrompt> repair_prompt(CandidateId) override { return std::nullopt; }
  PoolLoad load() const override { return {.devices = 1, .idle_devices = 1}; }

  std::vector<std::int64_t> stopped_ns;  // times of the decisions, by stream
  std::string problem;

 private:
  Task<void> judge(CandidateId id) {
    co_await loop_.sleep(kJudging);
    last_at_work_ = false;
    if (!iteration_) co_return;
    decided_ns_ = now_ns();
    iteration_->add_result(
        {.id = id, .origin = Origin::fork, .has_feedback = true, .meets_criterion = true});
  }

  Loop& loop_;
  Model& model_;
  Triggers& triggers_;
  Event& stop_;
  int number_;
  Gate gate_;
  ReasoningTotals totals_;
  StoppingPolicy stopping_;
  Iteration* iteration_ = nullptr;
  bool last_at_work_ = false;
  std::int64_t decided_ns_ = 0;
  std::uint64_t last_ = 0;
  TaskGroup judging_;
};

Task<Result<void>> run_streams(Loop& loop, Event& stop,
                               std::vector<std::unique_ptr<Follower>>& followers) {
  TaskGroup group(loop);
  for (auto& follower : followers) {
    group.spawn(follower->follow());
    co_await loop.sleep(kBetweenStarts);
  }
  co_await loop.sleep(kWindow);
  stop.set();
  co_return co_await group.join();
}

}  // namespace

void bench_speculation() {
  heading(
      "Speculation: 100 reasoning streams at 50 chunks/s, one core each for us and the "
      "server");
  int pair[2] = {-1, -1};
  ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
  int buffer = 4 << 20;
  ::setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  pid_t server = ::fork();
  if (server == 0) be_the_server(pair[1]);
  ::close(pair[1]);
  ServerReport server_report;
  if (::recv(pair[0], &server_report, sizeof server_report, 0) != sizeof server_report)
    return note("the server", "did not start");

  RealDriver driver(1);
  Loop loop(driver);
  CallLedger ledger;
  ModelServices services(loop, driver, ledger);
  NamedModel named;
  named.name = "bench";
  named.url = fmt::format("http://127.0.0.1:{}/v1", server_report.ns);
  named.profile = "generic";
  named.fork = "user_turn";
  named.max_concurrent = 4 * kStreams;
  auto model = open_server_model(services, "bench", std::span(&named, 1));
  TriggerSet set;
  set.patterns.emplace_back();
  set.patterns.back().name = "decision";
  set.patterns.back().regex = "I'll go with";
  set.patterns.back().cut = CutRule::after_paragraph;
  auto triggers = Triggers::compile(std::move(set));
  if (!model || !triggers)
    return note("the model", model ? triggers.error().text() : model.error().text());
  Event stop(loop);
  std::vector<std::unique_ptr<Follower>> followers;
  for (int i = 1; i <= kStreams; ++i) {
    followers.push_back(std::make_unique<Follower>(loop, **model, **triggers, stop, i));
  }
  Awake first(0), second(1);
  cpu_set_t everywhere;
  ::sched_getaffinity(0, sizeof everywhere, &everywhere);
  pin_to(0);
  bool is_undisturbed = set_policy(SCHED_FIFO, 1);
  Stopwatch watch;
  double cpu = cpu_seconds();
  (void)loop.run(run_streams(loop, stop, followers));
  double cores = (cpu_seconds() - cpu) / watch.seconds();
  set_policy(SCHED_OTHER, 0);
  ::sched_setaffinity(0, sizeof everywhere, &everywhere);

  std::vector<double> fork_ms, close_ms;
  std::map<std::int64_t, std::vector<std::int64_t>> closed;  // by stream, in order
  while (::recv(pair[0], &server_report, sizeof server_report, MSG_DONTWAIT) ==
         sizeof server_report) {
    if (server_report.is_fork) {
      fork_ms.push_back(static_cast<double>(server_report.ns) / 1e6);
    } else {
      closed[server_report.stream].push_back(server_report.ns);
    }
  }
  for (int i = 1; i <= kStreams; ++i) {
    const auto& decided = followers[static_cast<std::size_t>(i - 1)]->stopped_ns;
    for (std::size_t at = 0; at < decided.size() && at < closed[i].size(); ++at) {
      close_ms.push_back(static_cast<double>(closed[i][at] - decided[at]) / 1e6);
    }
    const std::string& problem = followers[static_cast<std::size_t>(i - 1)]->problem;
    if (!problem.empty()) note("  a stream failed", problem);
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  ::close(pair[0]);
  note("forks, early stops", fmt::format("{}, {}", fork_ms.size(), close_ms.size()));
  note("priority",
       is_undisturbed ? "real-time" : "normal: these figures include the turns of other programs");
  if (fork_ms.empty() || close_ms.empty()) return note("  NOTHING WAS MEASURED", "");
  double forked = quantile(fork_ms, 0.99), stopped = quantile(close_ms, 0.99);
  at_most("last byte of a trigger to the request of its fork at the server, p99", forked, 2,
          fmt::format("{:.2f} ms", forked), "2 ms");
  note("  median", fmt::format("{:.2f} ms", quantile(fork_ms, 0.5)));
  at_most("decision to stop to the closed stream at the server, p99", stopped, 5,
          fmt::format("{:.2f} ms", stopped), "5 ms");
  note("  median", fmt::format("{:.2f} ms", quantile(close_ms, 0.5)));
  at_most("processor time of the controller", cores, 1, fmt::format("{:.2f} cores", cores),
          "1 core");
  double mb = resident_mb();
  at_most("  its memory", mb, 1000, fmt::format("{:.0f} MB", mb), "1 GB");
}

}  // namespace specgen
