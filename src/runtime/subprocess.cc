#include "runtime/subprocess.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "runtime/process_tree.h"
#include "runtime/race.h"

namespace specgen {
namespace {

std::atomic<bool> g_exists = false;

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Sent by the child through a pipe if exec fails.
struct ExecFailure {
  int error_number = 0;
  bool of_folder = false;  // chdir failed, not exec
};

// Everything the child needs between fork and exec, prepared before the fork: allocating after it is unsafe.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* folder;  // or null
  std::array<int, 3> standard_fds;
  const std::vector<int>* more_fds;  // numbered above their targets
  int error_pipe;
  pid_t parent;
};

[[noreturn]] void exec_in_child(const Launch& launch) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Its daemons stay below it while it runs: orphans that reach this process come from an ended child.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent died before the line above
  ::signal(SIGPIPE, SIG_DFL);
  restore_descriptor_limit();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = true;
  for (int i = 0; i < 3; ++i)
    ready = ready && ::dup2(launch.standard_fds[static_cast<std::size_t>(i)], i) == i;
  int next = 3;
  for (int fd : *launch.more_fds) {
    ready = ready && ::dup2(fd, next) == next;
    ++next;
  }
  if (::syscall(SYS_close_range, static_cast<unsigned>(next), ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    for (int fd = next; fd < 4096; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // before Linux 5.11
  }
  ExecFailure failure;
  failure.of_folder = ready && launch.folder && ::chdir(launch.folder) != 0;
  ready = ready && !failure.of_folder;
  if (ready) ::execve(launch.program, launch.argv, launch.environment);
  failure.error_number = errno;
  [[maybe_unused]] ssize_t n = ::write(launch.error_pipe, &failure, sizeof failure);
  ::_exit(127);
}

// A copy of `fd` numbered `lowest` or above, where no later dup2 overwrites it. (Without standard streams of our own, a
// pipe may have got number 0, 1 or 2.)
Result<Fd> duplicate_above(int fd, int lowest) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, lowest));
  if (!copy) return fail_errno("fcntl", errno);
  return copy;
}

Exit wait_for(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0) {
    SG_ASSERT(errno == EINTR, "a child was reaped by other code");
  }
  if (info.si_code == CLD_EXITED) return {.code = info.si_status, .signal = 0};
  return {.code = -1, .signal = info.si_status};
}

Task<void> feed(std::unique_ptr<AsyncFd>& pipe, std::string_view bytes) {
  auto written = co_await pipe->write_all(bytes);
  (void)written;  // a child may exit without reading all its input
  pipe.reset();
}

Task<Result<void>> collect(AsyncFd& pipe, std::string& into, Bytes limit) {
  std::array<char, 1 << 14> buffer;
  while (true) {
    std::size_t n = CO_TRY(co_await pipe.read_some(buffer));
    if (n == 0) co_return Result<void>();
    into.append(buffer.data(), n);
    if (into.size() > limit.count) {
      into.resize(limit.count);
      co_return fail(ErrorCode::output_limit, format_bytes(limit));
    }
  }
}

// The references are into the caller's frame, which outlives this task.
Task<Result<void>> transfer_and_wait(Loop& loop, Process& process, const Command& command,
                                     Finished& finished) {
  TaskGroup group(loop);
  group.spawn(collect(*process.output, finished.output, command.output_limit));
  group.spawn(collect(*process.error_output, finished.error_output, command.output_limit));
  group.spawn(feed(process.input, command.input));
  CO_TRY(co_await group.join());
  finished.exit = co_await process.wait();
  co_return Result<void>();
}

}  // namespace

std::string to_string(Exit exit) {
  if (exit.signal == 0) return fmt::format("exit code {}", exit.code);
  return fmt::format("signal {} ({})", exit.signal, ::strsignal(exit.signal));
}

Process::Process(Processes& owner, std::shared_ptr<detail::Running> running)
    : owner_(&owner), running_(std::move(running)) {}

Process::~Process() {
  if (running_ && !running_->exited.is_set()) kill();
}

void Process::kill() {
  owner_->kill_tree(*running_);
}

Task<Exit> Process::wait() {
  std::shared_ptr<detail::Running> running = running_;
  co_await running->exited.wait();
  co_return running->exit;
}

Processes::Processes(Loop& loop, RealDriver& driver)
    : loop_(loop), driver_(driver), reapers_(loop) {
  SG_ASSERT(!g_exists.exchange(true), "there are two Processes in one program");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of our children are reparented here, not to init
  ::signal(SIGCHLD, SIG_DFL);  // SIG_IGN may have been inherited: the kernel would reap by itself
}

Processes::~Processes() {
  g_exists = false;
  for (const auto& running : running_) kill_tree(*running);
  reapers_.cancel();
  // A killed process ends a little later; one stuck in a system call may not end at all and is left to init.
  constexpr int kMaxPolls = 1000;
  for (int poll = 0; poll < kMaxPolls && !running_.empty(); ++poll) {
    for (const auto& running : running_) {
      if (!running->exited.is_set() && ::waitpid(running->pid, nullptr, WNOHANG) != 0)
        running->exited.set();
    }
    if (kill_strays() > 0) continue;
    std::erase_if(running_, [](const auto& running) { return running->exited.is_set(); });
    if (!running_.empty()) ::usleep(1000);
  }
  for (const auto& running : running_)
    running->exited.set();  // remaining handles must not call kill_tree()
}

Result<Process> Processes::spawn(const Command& command) {
  SG_ASSERT(!command.argv.empty(), "a command has at least a name");
  std::filesystem::path program = find_program(command.argv[0]);
  if (program.empty()) return fail(ErrorCode::tool_missing, command.argv[0]);
  program = std::filesystem::absolute(program);  // the child changes its working directory first

  Pipe input = TRY(make_pipe());
  Pipe output = TRY(make_pipe());
  Pipe errors = TRY(make_pipe());
  Pipe failures = TRY(make_pipe());
  const int first_free = 3 + static_cast<int>(command.descriptors.size());
  for (Fd* fd : {&input.read_end, &output.write_end, &errors.write_end, &failures.write_end}) {
    if (fd->get() < first_free) *fd = TRY(duplicate_above(fd->get(), first_free));
  }
  std::vector<Fd> passed;
  std::vector<int> passed_numbers;
  for (int fd : command.descriptors) {
    passed.push_back(TRY(duplicate_above(fd, first_free)));
    passed_numbers.push_back(passed.back().get());
  }

  auto running = std::make_shared<detail::Running>(loop_);
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment =
      command.environment ? *command.environment : whole_environment();
  std::vector<char*> argv_pointers = pointers_to(argv);
  std::vector<char*> environment_pointers = pointers_to(environment);
  Launch launch{
      .program = program.c_str(),
      .argv = argv_pointers.data(),
      .environment = environment_pointers.data(),
      .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
      .standard_fds = {input.read_end.get(), output.write_end.get(), errors.write_end.get()},
      .more_fds = &passed_numbers,
      .error_pipe = failures.write_end.get(),
      .parent = ::getpid()};

  running->pid = ::fork();
  if (running->pid < 0) return fail_errno("fork", errno);
  if (running->pid == 0) exec_in_child(launch);

  failures.write_end.reset();
  ExecFailure failure;
  ssize_t received = 0;
  do {  // returns when the child has called exec or exited
    received = ::read(failures.read_end.get(), &failure, sizeof failure);
  } while (received < 0 && errno == EINTR);
  if (received == sizeof failure) {
    wait_for(running->pid);
    return fail(ErrorCode::spawn_failed,
                fmt::format("{}: {}", (failure.of_folder ? command.folder : program).string(),
                            std::strerror(failure.error_number)));
  }
  return own_child(std::move(running), std::move(input.write_end), std::move(output.read_end),
                   std::move(errors.read_end));
}

// The child runs from here on, and is killed if anything below fails.
Result<Process> Processes::own_child(std::shared_ptr<detail::Running> running, Fd input, Fd output,
                                     Fd errors) {
  Process process(*this, running);
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, running->pid, 0)));
  auto watched = pidfd ? AsyncFd::open(loop_, driver_, std::move(pidfd))
                       : Result<std::unique_ptr<AsyncFd>>(fail_errno("pidfd_open", errno));
  if (!watched) {
    kill_tree(*running);
    running->exit = wait_for(running->pid);
    running->exited.set();
    return std::unexpected(std::move(watched).error());
  }
  running_.push_back(running);
  reapers_.spawn(reap(running, std::move(*watched)));

  process.input = TRY(AsyncFd::open(loop_, driver_, std::move(input)));
  process.output = TRY(AsyncFd::open(loop_, driver_, std::move(output)));
  process.error_output = TRY(AsyncFd::open(loop_, driver_, std::move(errors)));
  return process;
}

Task<Result<Finished>> Processes::run(Command command) {
  Time start = loop_.now();
  Process process = CO_TRY(spawn(command));
  Finished finished;
  Task<Result<void>> work = transfer_and_wait(loop_, process, command, finished);
  CO_TRY(co_await with_timeout(loop_, command.time_limit, std::move(work), command.argv[0]));
  finished.took = loop_.now() - start;
  co_return finished;
}

Task<void> Processes::drain() {
  auto joined = co_await reapers_.join();
  SG_ASSERT(joined.has_value(), "reapers do not fail");
}

Task<void> Processes::reap(std::shared_ptr<detail::Running> running,
                           std::unique_ptr<AsyncFd> pidfd) {
  co_await pidfd->readable();
  ::kill(-running->pid,
         SIGKILL);  // the rest of its group; the pid is not reused until it is reaped
  running->exit = wait_for(running->pid);
  running->exited.set();
  // Its orphans are reparented to this process as it ends, and are killed and reaped. An orphan stuck in a system call
  // is left for the next sweep.
  constexpr int kMaxSweeps = 2000;
  for (int sweep = 0; sweep < kMaxSweeps && kill_strays() > 0; ++sweep) {
    co_await loop_.sleep(std::chrono::milliseconds(1));
  }
  std::erase(running_, running);
}

void Processes::kill_tree(const detail::Running& running) {
  if (running.exited.is_set()) return;  // its pid may have been reused
  kill_with_descendants(running.pid);
}

bool Processes::is_own_child(pid_t pid) const {
  return std::ranges::any_of(running_, [pid](const auto& running) {
    return running->pid == pid && !running->exited.is_set();
  });
}

// Kills orphans that were reparented to this process: every running child keeps its own orphans, so these belong to
// children that have ended. Children that a library forked share our session and are left alone. Returns how many
// orphans were found; each may have left children of its own, so the caller repeats until none is found.
std::size_t Processes::kill_strays() {
  std::size_t found = 0;
  pid_t our_session = ::getsid(0);
  for (pid_t pid : children_of(::getpid())) {
    if (is_own_child(pid) || ::getsid(pid) == our_session) continue;
    ++found;
    kill_with_descendants(pid);
    ::waitpid(pid, nullptr, WNOHANG);
  }
  return found;
}

}  // namespace specgen
