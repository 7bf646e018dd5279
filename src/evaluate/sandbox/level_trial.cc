#include "evaluate/sandbox/level_trial.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "evaluate/sandbox/poison.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;

// The lowest level that must contain each attack. L2 adds to L1: a limit on the total size of
// files, and with a GPU that the host's processes cannot be seen. L3 adds to L2: a limit on memory
// with a GPU, and on the memory of all processes together.
struct Promise {
  std::string_view poison;
  SandboxLevel from;
};
constexpr std::array kPromises{
    Promise{"read-secret", SandboxLevel::lsm},    Promise{"write-outside", SandboxLevel::lsm},
    Promise{"symlink-escape", SandboxLevel::lsm}, Promise{"connect-out", SandboxLevel::lsm},
    Promise{"signal-host", SandboxLevel::lsm},    Promise{"see-host", SandboxLevel::lsm},
    Promise{"ptrace-parent", SandboxLevel::lsm},  Promise{"bad-syscalls", SandboxLevel::lsm},
    Promise{"new-namespace", SandboxLevel::lsm},  Promise{"mount-something", SandboxLevel::lsm},
    Promise{"setuid-root", SandboxLevel::lsm},    Promise{"device-nodes", SandboxLevel::lsm},
    Promise{"fork-bomb", SandboxLevel::lsm},
};

constexpr int kProcesses = 16;
constexpr int kMaxForks = kProcesses + 4;  // with bubblewrap's own processes
constexpr Duration kTimeLimit = 10s;

// Files, a port and a process for the attacks.
struct Bait {
  TemporaryFolder folder;  // readable by all
  Fd listener;
  PoisonTargets targets;
};

Result<Bait> make_bait() {
  TemporaryFolder folder = TRY(TemporaryFolder::make());
  fs::path secret = folder.path() / "secret";
  fs::path open = folder.path() / "open";
  TRY(write_file_durably(secret, "secret"));
  std::error_code error;
  fs::create_directory(open, error);
  TRY(write_file_durably(open / "kept", "kept"));
  bool is_open = ::chmod(folder.path().c_str(), 0755) == 0 && ::chmod(open.c_str(), 0777) == 0 &&
                 ::chmod((open / "kept").c_str(), 0666) == 0;
  if (!is_open) return fail_errno(folder.path().string(), errno);

  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bool listens = listener &&
                 ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                 ::listen(listener.get(), 1) == 0 &&
                 ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  // On a host without a loopback interface any port will do.
  int port = listens ? ntohs(address.sin_port) : 9;
  PoisonTargets targets{.secret_file = secret.string(),
                        .open_folder = open.string(),
                        .port = port,
                        .process = ::getpid(),
                        .pid_namespace = fs::read_symlink("/proc/self/ns/pid", error).string(),
                        .max_forks = kMaxForks};
  return Bait{std::move(folder), std::move(listener), std::move(targets)};
}

// Damage that the hostile program may not have reported.
std::string damage_to(const Bait& bait) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(bait.targets.open_folder, error)) {
    found.push_back(entry.path().filename().string());
  }
  if (found != std::vector<std::string>{"kept"}) return "a folder outside was written to";
  if (bait.listener) {
    Fd caller(::accept4(bait.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (caller) return "the host's network was reached";
  }
  return {};
}

// All data until the last writer closes the pipe; nothing if one never does.
Task<std::optional<std::string>> read_until_closed(Loop& loop, Fd pipe) {
  std::string text;
  std::array<char, 4096> buffer;
  constexpr int kMaxReads = 2000;
  for (int reads = 0; reads < kMaxReads;) {
    ssize_t n = ::read(pipe.get(), buffer.data(), buffer.size());
    if (n == 0) co_return text;
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
    if (n > 0) continue;
    ++reads;
    co_await loop.sleep(1ms);
  }
  co_return std::nullopt;
}

std::string describe_failure(const Finished& finished) {
  std::string_view message = first_line(trim(finished.error_output));
  return fmt::format("{}{}{}", to_string(finished.exit), message.empty() ? "" : ": ", message);
}

Command poison_command(const std::vector<std::string>& self, std::string name,
                       std::vector<std::string> arguments) {
  Command command{.argv = self, .time_limit = kTimeLimit};
  command.argv.emplace_back(kInternalPoison);
  command.argv.push_back(std::move(name));
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

Task<Result<void>> test_reach(Loop& loop, Processes& processes, const Sandbox& sandbox,
                              std::vector<std::string> self) {
  Bait bait = CO_TRY(make_bait());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) co_return fail_errno("pipe", errno);
  Fd read_end(ends[0]), write_end(ends[1]);
  Command command = poison_command(self, "self-test", arguments_of(bait.targets));
  command.descriptors = {write_end.get()};
  SandboxedCommand sandboxed = CO_TRY(sandbox.wrap(std::move(command), {.processes = kProcesses}));
  Finished finished = CO_TRY(co_await processes.run(sandboxed.command));
  write_end.reset();
  auto report = co_await read_until_closed(loop, std::move(read_end));
  if (!finished.exit.ok()) {
    co_return fail(ErrorCode::sandbox_missing, describe_failure(finished));
  }
  if (!report) co_return fail(ErrorCode::sandbox_missing, "a process outlived its sandbox");
  std::string escape = first_escape(sandbox.level(), *report);
  if (escape.empty()) escape = damage_to(bait);
  if (!escape.empty()) co_return fail(ErrorCode::sandbox_missing, escape);
  co_return Result<void>();
}

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kAddressesAreLimited = false;  // see sandbox_launcher.cc
#else
constexpr bool kAddressesAreLimited = true;
#endif

Task<Result<void>> test_memory(Processes& processes, const Sandbox& sandbox,
                               std::vector<std::string> self) {
  bool has_group = sandbox.level() == SandboxLevel::full;
  if (!has_group && !kAddressesAreLimited) co_return Result<void>();
  // Touching memory takes time, so less of it; an address limit must leave enough for the program.
  std::uint64_t limit = has_group ? 48 : 256;
  Command command = poison_command(self, "memory-hog", {std::to_string(2 * limit)});
  SandboxedCommand sandboxed = CO_TRY(sandbox.wrap(std::move(command), {.memory = MiB(limit)}));
  Finished finished = CO_TRY(co_await processes.run(sandboxed.command));
  bool held = has_group ? sandboxed.resources.killed_for_memory() && !finished.exit.ok()
                        : finished.exit.ok();
  if (!held) {
    co_return fail(ErrorCode::sandbox_missing,
                   fmt::format("memory is not limited ({})", describe_failure(finished)));
  }
  co_return Result<void>();
}

}  // namespace

std::string first_escape(SandboxLevel level, std::string_view report) {
  std::vector<std::string_view> lines = split(report, '\n');
  for (const Promise& promise : kPromises) {
    if (level < promise.from) continue;
    std::string_view answer;
    for (std::string_view line : lines) {
      bool matches = line.starts_with(promise.poison) && line.size() > promise.poison.size() &&
                     line[promise.poison.size()] == ' ';
      if (matches) answer = line.substr(promise.poison.size() + 1);
    }
    if (answer == "contained") continue;
    return answer.empty() ? fmt::format("{} did not answer", promise.poison)
                          : fmt::format("{} {}", promise.poison, answer);
  }
  return {};
}

Task<LevelTrial> try_level(Loop& loop, Processes& processes, const Sandbox& sandbox,
                           std::vector<std::string> self) {
  auto reach = co_await test_reach(loop, processes, sandbox, self);
  if (!reach) co_return LevelTrial{.problem = reach.error().context};
  auto memory = co_await test_memory(processes, sandbox, std::move(self));
  if (!memory) co_return LevelTrial{.problem = memory.error().context};
  co_return LevelTrial{.held = true};
}

}  // namespace specgen
