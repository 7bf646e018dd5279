#include "evaluate/cpu/cpu_executor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstring>
#include <new>

#include "base/text.h"
#include "runtime/race.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr Duration kAnswerLimit = std::chrono::seconds(20);  // for our own code in the executor
constexpr Duration kEndLimit = std::chrono::seconds(8);      // the same, if it only has to wake up
constexpr Duration kMinWakeLimit = std::chrono::seconds(1);  // on a busy machine

// The pid of a pidfd's process in our pid namespace; inside the sandbox it has another one.
pid_t pid_of(int pidfd) {
  auto text = read_file(fmt::format("/proc/self/fdinfo/{}", pidfd));
  if (!text) return 0;
  for (std::string_view line : split(*text, '\n')) {
    if (line.starts_with("Pid:")) return static_cast<pid_t>(std::atoi(line.substr(4).data()));
  }
  return 0;
}

// A sandbox is a session of its own. If the kernel schedules by session, the priority that its
// processes inherit from ask_for_preference() counts only within the session. Works for root only.
void prefer_session_of(pid_t pid) {
  Fd group(::open(fmt::format("/proc/{}/autogroup", pid).c_str(), O_WRONLY | O_CLOEXEC));
  if (group) (void)write_all(group.get(), "-15");
}

Task<Result<Json>> receive(JudgeContext& context, MessageSocket& socket, Duration limit,
                           std::vector<Fd>* descriptors = nullptr) {
  auto message =
      CO_TRY(co_await with_timeout(context.loop, limit, socket.receive(), "an executor's answer"));
  if (!message) co_return fail(ErrorCode::bad_message, "the executor has ended");
  if (descriptors) *descriptors = std::move(message->descriptors);
  co_return parse_json(message->body);
}

std::string_view describe_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "it touched memory that is not its own";
    case SIGBUS:
      return "it touched memory that does not exist";
    case SIGFPE:
      return "it divided an integer by zero";
    case SIGILL:
      return "it executed an instruction that this processor does not have, or a trap";
    case SIGSYS:
      return "it made a system call; a kernel computes and does nothing else";
    case SIGKILL:
      return "it was killed";
    default:
      return "it was ended by a signal";
  }
}

}  // namespace

CpuExecutor::CpuExecutor(JudgeContext& context, CpuExecutorSettings settings,
                         SandboxedCommand sandboxed, Process process, MessageSocket socket)
    : context_(context),
      settings_(std::move(settings)),
      sandboxed_(std::move(sandboxed)),
      process_(std::move(process)),
      socket_(std::move(socket)) {}

CpuExecutor::~CpuExecutor() = default;

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::start(JudgeContext& context,
                                                        CpuExecutorSettings settings) {
  auto [socket, theirs] = TRY(MessageSocket::make_pair(context.loop, context.driver));
  Command command{.argv = context.self};
  command.argv.emplace_back("internal-cpu-executor");
  command.descriptors = {theirs.get()};
  SandboxLimits limits{.memory = settings.memory,
                       .processes = 16 + static_cast<int>(settings.cores.size())};
  limits.cpu_time = std::chrono::seconds(600);
  SandboxedCommand sandboxed = TRY(context.sandbox.wrap(std::move(command), limits));
  Process process = TRY(context.processes.spawn(sandboxed.command));
  return std::unique_ptr<CpuExecutor>(new CpuExecutor(
      context, std::move(settings), std::move(sandboxed), std::move(process), std::move(socket)));
}

Task<Result<void>> CpuExecutor::ready() {
  if (is_ready_) co_return Result<void>();
  auto answer = co_await receive(context_, socket_, kAnswerLimit);
  if (!answer) {
    std::array<char, 2000> buffer;
    auto last = co_await race(process_.error_output->read_some(buffer),
                              context_.loop.sleep(std::chrono::milliseconds(100)));
    std::string why = answer.error().context;
    if (auto* n = last.first(); n && *n && **n > 0) why = std::string(buffer.data(), **n);
    co_return fail(ErrorCode::harness_failed, "the executor did not start: " + why);
  }
  is_ready_ = true;
  co_return Result<void>();
}

Task<Result<void>> CpuExecutor::load(CpuProgram program, Finding& finding) {
  CO_TRY(co_await ready());
  SharedFile binary = CO_TRY(SharedFile::make("candidate", program.binary.size()));
  std::memcpy(binary.bytes().data(), program.binary.data(), program.binary.size());
  Json request{{"do", "load"},
               {"entry", program.entry},
               {"strict", program.strict},
               {"cores", boost::json::array(settings_.cores.begin(), settings_.cores.end())}};
  CO_TRY(co_await socket_.send(compact_json(request), {binary.fd()}));
  Json answer = CO_TRY(co_await receive(context_, socket_, kAnswerLimit));
  if (std::string problem = text_at(answer, "problem"); !problem.empty()) {
    finding = specgen::finding(Verdict::rejected, "it cannot be loaded: " + problem);
  }
  co_return Result<void>();
}

Task<Result<Finding>> CpuExecutor::begin_case(
    const CpuLayout& layout, std::vector<int> files,
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges) {
  Finding before = CO_TRY(co_await end_case());
  if (!before.ok()) co_return before;
  mailbox_file_ = CO_TRY(SharedFile::make("call-mailbox", round_up_to_pages(sizeof(CallMailbox))));
  auto* mailbox = new (mailbox_file_.bytes().data()) CallMailbox;
  boost::json::object request{{"do", "lay_out"}, {"layout", to_json(layout)}};
  if (!ranges.empty()) {
    boost::json::array all;
    for (auto [first, last] : ranges) all.push_back(boost::json::array{first, last});
    request["ranges"] = std::move(all);
  }
  files.insert(files.begin(), mailbox_file_.fd());
  case_process_.reset();
  has_sent_files_ = true;
  CO_TRY(co_await socket_.send(compact_json(request), std::move(files)));
  std::vector<Fd> descriptors;
  Json answer = CO_TRY(co_await receive(context_, socket_, kAnswerLimit, &descriptors));
  if (std::string problem = text_at(answer, "problem"); !problem.empty()) {
    co_return fail(ErrorCode::harness_failed, "the executor could not map its buffers: " + problem);
  }
  const Json* mapped = member_at(answer, "addresses");
  if (!mapped || !mapped->is_array() || descriptors.size() != 1) {
    co_return fail(ErrorCode::bad_message,
                   "an executor sent an answer that does not fit the request");
  }
  addresses_.clear();
  for (const Json& set : mapped->get_array()) {
    auto& addresses = addresses_.emplace_back();
    for (const Json& address : set.as_array()) {
      addresses.push_back(address.to_number<std::uint64_t>());
    }
  }
  layout_ = layout;
  pid_ = pid_of(descriptors.front().get());
  case_process_ = std::make_shared<const Fd>(std::move(descriptors.front()));
  rung_ = 0;
  mailbox_ = mailbox;
  co_return Finding{};
}

Task<Result<Finding>> CpuExecutor::lay_out(const CpuLayout& layout, std::vector<int> files) {
  Finding begun = CO_TRY(co_await begin_case(layout, std::move(files), {}));
  if (begun.ok()) prefer_session_of(pid_);
  co_return begun;
}

// A candidate that has taken over the process may set `done` itself and never return.
Task<Result<Finding>> CpuExecutor::end_case() {
  if (!mailbox_) co_return Finding{};
  mailbox_->set = CallMailbox::kEnd;
  mailbox_->go.store(++rung_);
  mailbox_->rung.store(rung_);
  futex_wake(mailbox_->rung);
  mailbox_ = nullptr;
  auto ended = co_await receive(context_, socket_, kEndLimit);
  if (ended) co_return Finding{};
  if (ended.error().code != ErrorCode::timeout) co_return std::unexpected(ended.error());
  co_return did_not_return();
}

Finding CpuExecutor::did_not_return() {
  mailbox_ = nullptr;
  process_.kill();
  return finding(Verdict::deferred_work, "it reported that it was done, but did not return");
}

bool CpuExecutor::has_message() const {
  pollfd poll{.fd = socket_.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

Task<Result<Finding>> CpuExecutor::call(std::size_t set, Duration limit, CallTiming& timing,
                                        CallHooks hooks) {
  SG_ASSERT(mailbox_, "a case must be laid out before a call");
  CallMailbox& mailbox = *mailbox_;
  if (rung_ == 0) {               // it has only just answered and may not sleep yet
    threads_ = threads_of(pid_);  // it cannot create more: the filter refuses
    if (threads_.empty())
      threads_ = {pid_};  // it has ended or is hidden from us, and never seems to sleep
    (void)wait_until_asleep();
    cpu_asleep_ = cpu_time_ns(pid_);
  }
  const std::int64_t rung_at = stopwatch_ns();
  mailbox.rung.store(++rung_);
  futex_wake(mailbox.rung);
  const std::int64_t deadline = rung_at + std::clamp(limit, kMinWakeLimit, kEndLimit).count();
  // Reading the clock and the socket takes time: not in every turn.
  constexpr int kTurnsBetweenChecks = 256;
  std::int64_t last_check = rung_at;
  auto timed_out = [&](const std::atomic<std::uint32_t>& flag, std::int64_t until) {
    for (int turns = 0; flag.load() != rung_; ++turns) {
      spin_pause();
      if (turns % kTurnsBetweenChecks != 0) continue;
      last_check = stopwatch_ns();
      if (last_check > until || has_message()) return flag.load() != rung_;
    }
    return false;
  };
  if (timed_out(mailbox.ready, deadline)) {
    if (has_message()) co_return co_await explain_end(kEndLimit);
    co_return did_not_return();
  }
  // It was ready at this time or up to one check later; on a busy machine it may have spun for long
  // before we saw it.
  const std::int64_t ready_at = last_check;
  if (hooks.before_go) hooks.before_go();
  mailbox.set = static_cast<std::uint32_t>(set);
  const std::int64_t start = stopwatch_ns();
  mailbox.go.store(rung_);
  bool is_late = timed_out(mailbox.done, start + limit.count());
  const std::int64_t end = stopwatch_ns();
  if (is_late) co_return co_await explain_end(limit);
  if (hooks.at_done) hooks.at_done();
  timing.wall_ns = end - start;
  timing.awake_ns = end - ready_at;
  timing.fell_asleep = wait_until_asleep();
  const std::int64_t cpu = cpu_time_ns(pid_);
  timing.cpu_ns = cpu - std::exchange(cpu_asleep_, cpu);
  co_return Finding{};
}

// On a busy machine an executor may have to wait for its core before it can sleep.
bool CpuExecutor::wait_until_asleep() const {
  constexpr std::int64_t kMaxWaitNs = 200'000'000;
  constexpr std::int64_t kBetweenChecksNs = 10'000;
  for (std::int64_t begin = stopwatch_ns(); !std::ranges::all_of(threads_, is_asleep);) {
    if (stopwatch_ns() - begin > kMaxWaitNs) return false;
    for (std::int64_t until = stopwatch_ns() + kBetweenChecksNs; stopwatch_ns() < until;) {
      spin_pause();
    }
  }
  return true;
}

Task<Result<Finding>> CpuExecutor::run_ranges(
    const CpuLayout& layout, std::vector<int> files,
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges, Duration limit) {
  Finding begun = CO_TRY(co_await begin_case(layout, std::move(files), std::move(ranges)));
  if (!begun.ok()) co_return begun;
  mailbox_ = nullptr;  // it ends by itself
  auto ended = co_await receive(context_, socket_, limit);
  if (!ended) {
    if (ended.error().code != ErrorCode::timeout) co_return std::unexpected(ended.error());
    process_.kill();
    co_return finding(Verdict::timeout,
                      fmt::format("it took longer than {}", format_duration(limit)));
  }
  int code = static_cast<int>(int_at(*ended, "code", -1));
  if (code == 0) co_return Finding{};
  mailbox_ = reinterpret_cast<CallMailbox*>(mailbox_file_.bytes().data());
  Finding why = died(static_cast<int>(int_at(*ended, "signal")), code);
  mailbox_ = nullptr;
  co_return why;
}

// The case's process has ended or does not answer.
Task<Result<Finding>> CpuExecutor::explain_end(Duration limit) {
  if (!has_message()) {
    mailbox_ = nullptr;
    process_.kill();
    co_return finding(Verdict::timeout,
                      fmt::format("one call took longer than {}", format_duration(limit)));
  }
  auto ended = co_await receive(context_, socket_, kAnswerLimit);
  if (!ended || !flag_at(*ended, "ended")) {
    mailbox_ = nullptr;
    process_.kill();
    if (sandboxed_.resources.killed_for_memory()) {
      co_return finding(Verdict::out_of_memory, "it used more memory than its sandbox has");
    }
    co_return finding(Verdict::crash, "it ended the process that started it");
  }
  Finding why = died(static_cast<int>(int_at(*ended, "signal")),
                     static_cast<int>(int_at(*ended, "code", -1)));
  mailbox_ = nullptr;
  co_return why;
}

Finding CpuExecutor::died(int signal, int code) const {
  if (sandboxed_.resources.killed_for_memory()) {
    return finding(Verdict::out_of_memory, "it used more memory than its sandbox has");
  }
  const std::uint64_t address = mailbox_->fault_address;
  if (mailbox_->fault_signal != 0) signal = mailbox_->fault_signal;
  if (signal == 0) {
    return finding(Verdict::crash, fmt::format("it ended its own process (exit code {})", code));
  }
  if (signal != SIGSEGV) {
    return finding(Verdict::crash, fmt::format("{} (signal {})", describe_signal(signal), signal));
  }
  // The address is in a read-only mapping, in a guard page, or elsewhere.
  for (std::size_t set = 0; set < addresses_.size(); ++set) {
    for (std::size_t i = 0; i < addresses_[set].size() && set < layout_.sets.size(); ++i) {
      const MappedBuffer& buffer = layout_.sets[set][i];
      const std::uint64_t begin = addresses_[set][i];
      const std::uint64_t end = begin + buffer.map_bytes;
      if (address >= begin && address < end && buffer.read_only) {
        return finding(Verdict::input_modified,
                       fmt::format("it wrote to parameter {}, which is an input", i + 1));
      }
      if (address >= begin - page_size() && address < end + page_size()) {
        return finding(Verdict::out_of_bounds,
                       fmt::format("it reached {} the end of parameter {}",
                                   address < begin ? "before" : "behind", i + 1));
      }
    }
  }
  return finding(Verdict::crash,
                 fmt::format("{} (address {:#x})", describe_signal(signal), address));
}

}  // namespace specgen
