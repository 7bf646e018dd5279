#include "runtime/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "runtime/process_tree.h"
#include "runtime/race.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

Command shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}};
}

// Every test must end without children or zombies.
class Subprocess : public testing::Test {
 protected:
  void TearDown() override {
    runtime_.loop.run(processes_.drain());
    EXPECT_EQ(processes_.alive(), 0u);
    EXPECT_TRUE(children_of(::getpid()).empty());
  }

  Result<Finished> run(Command command) {
    return runtime_.loop.run(processes_.run(std::move(command)));
  }
  std::string output_of(Command command) {
    Finished finished = run(std::move(command)).value();
    EXPECT_TRUE(finished.exit.ok()) << to_string(finished.exit) << finished.error_output;
    return finished.output;
  }

  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  fs::path folder_ = temporary_.path();
  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
};

Task<std::string> read_line(AsyncFd& from) {
  std::string line;
  std::array<char, 1> byte;
  while (true) {
    auto n = co_await from.read_some(byte);
    if (!n || *n == 0 || byte[0] == '\n') co_return line;
    line += byte[0];
  }
}

std::string much(std::size_t size) {
  std::string bytes;
  for (int i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + '\n';
  bytes.resize(size);
  return bytes;
}

TEST_F(Subprocess, output_error_output_and_exit_code_are_separate) {
  Finished finished = run(shell("echo out; echo err >&2; exit 3")).value();
  EXPECT_EQ(finished.output, "out\n");
  EXPECT_EQ(finished.error_output, "err\n");
  EXPECT_EQ(finished.exit.code, 3);
  EXPECT_EQ(finished.exit.signal, 0);
  EXPECT_FALSE(finished.exit.ok());
  EXPECT_GT(finished.took, 0ns);
}

TEST_F(Subprocess, a_signal_is_not_an_exit_code) {
  Finished finished = run(shell("kill -TERM $$")).value();
  EXPECT_EQ(finished.exit.code, -1);
  EXPECT_EQ(finished.exit.signal, SIGTERM);
  EXPECT_FALSE(finished.exit.ok());
  EXPECT_EQ(to_string(finished.exit), "signal 15 (Terminated)");
  EXPECT_EQ(to_string(Exit{.code = 3}), "exit code 3");
}

TEST_F(Subprocess, arguments_arrive_as_they_are) {
  EXPECT_EQ(output_of({.argv = {"sh", "-c", "printf '[%s]' \"$@\"", "name", "a b", "", "*", "\n"}}),
            "[a b][][*][\n]");
}

TEST_F(Subprocess, input_larger_than_a_pipe_is_echoed) {
  std::string bytes = much(4 << 20);
  EXPECT_TRUE(output_of({.argv = {"cat"}, .input = bytes, .output_limit = MiB(5)}) == bytes);
}

TEST_F(Subprocess, a_child_need_not_read_its_input) {
  std::string bytes = much(4 << 20);
  for (const char* script : {"exit 0", "exec <&-; echo worked", "read line; echo \"$line\""}) {
    Command command = shell(script);
    command.input = bytes;
    EXPECT_TRUE(run(std::move(command)).value().exit.ok()) << script;
  }
}

TEST_F(Subprocess, without_input_it_reads_the_end_at_once) {
  EXPECT_EQ(output_of({.argv = {"cat"}}), "");
}

TEST_F(Subprocess, output_up_to_the_limit_is_accepted_and_one_byte_more_is_not) {
  std::string bytes = much(100'000);
  EXPECT_EQ(output_of({.argv = {"cat"}, .input = bytes, .output_limit = {100'000}}), bytes);
  Result<Finished> over = run({.argv = {"cat"}, .input = bytes, .output_limit = {99'999}});
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().code, ErrorCode::output_limit);
}

TEST_F(Subprocess, one_that_prints_endlessly_is_killed_at_its_limit) {
  for (const char* script :
       {"while :; do echo xxxxxxxxxxxxxxxx; done", "while :; do echo xxxxxxxxxxxxxxxx >&2; done"}) {
    Command command = shell(script);
    command.output_limit = KiB(100);
    EXPECT_EQ(run(std::move(command)).error().code, ErrorCode::output_limit) << script;
  }
}

TEST_F(Subprocess, the_output_limit_applies_while_input_is_unread) {
  Result<Finished> over = run({.argv = {"cat", "/dev/zero"},
                               .input = much(4 << 20),
                               .output_limit = KiB(100),
                               .time_limit = 20s});
  EXPECT_EQ(over.error().code, ErrorCode::output_limit);
}

TEST_F(Subprocess, one_over_its_time_limit_is_killed_even_if_it_ignores_signals_or_is_stopped) {
  for (const char* script : {"sleep 30", "trap '' TERM INT HUP; while :; do sleep 30; done",
                             "kill -STOP $$", "exec >&- 2>&-; sleep 30"}) {
    Command command = shell(script);
    command.time_limit = 50ms;
    Result<Finished> late = run(std::move(command));
    ASSERT_FALSE(late.has_value()) << script;
    EXPECT_EQ(late.error().code, ErrorCode::timeout);
    EXPECT_EQ(late.error().context, "sh: the limit is 50.0 ms");
    runtime_.loop.run(processes_.drain());
  }
}

TEST_F(Subprocess, a_missing_program_is_named) {
  for (std::string name : {std::string("no-such-program"), (folder_ / "none").string()}) {
    Result<Finished> missing = run({.argv = {name}});
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::tool_missing);
    EXPECT_EQ(missing.error().context, name);
  }
}

TEST_F(Subprocess, a_file_that_is_not_a_program_is_an_error_that_names_it) {
  std::string path = folder_ / "notes";
  std::ofstream(path) << "just text\n";
  EXPECT_EQ(run({.argv = {path}}).error().code, ErrorCode::tool_missing);
  fs::permissions(path, fs::perms::owner_all);
  Result<Finished> unfit = run({.argv = {path}});
  ASSERT_FALSE(unfit.has_value());
  EXPECT_EQ(unfit.error().code, ErrorCode::spawn_failed);
  EXPECT_EQ(unfit.error().context, path + ": Exec format error");
}

TEST_F(Subprocess, runs_in_the_given_folder) {
  Command command = shell("pwd");
  command.folder = fs::canonical(folder_);
  EXPECT_EQ(output_of(command), command.folder.string() + "\n");
}

TEST_F(Subprocess, a_relative_program_is_resolved_before_the_folder_changes) {
  fs::path elsewhere = folder_ / "a" / "b" / "c";
  fs::create_directories(elsewhere);
  std::string program = fs::relative(find_program("sh"));
  EXPECT_EQ(output_of({.argv = {program, "-c", "echo ran"}, .folder = elsewhere}), "ran\n");
}

TEST_F(Subprocess, a_missing_folder_is_an_error_that_names_it) {
  Command command = shell("pwd");
  command.folder = folder_ / "none";
  Result<Finished> nowhere = run(command);
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().code, ErrorCode::spawn_failed);
  EXPECT_NE(nowhere.error().context.find(command.folder.string()), std::string::npos)
      << nowhere.error().context;
}

TEST_F(Subprocess, has_exactly_the_given_environment) {
  Command command{.argv = {"env"}, .environment = {{"A=1", "B=two words"}}};
  EXPECT_EQ(output_of(command), "A=1\nB=two words\n");
}

TEST_F(Subprocess, inherits_the_environment_by_default) {
  ::setenv("SPECGEN_TEST_VARIABLE", "inherited", 1);
  EXPECT_EQ(output_of(shell("echo $SPECGEN_TEST_VARIABLE")), "inherited\n");
  ::unsetenv("SPECGEN_TEST_VARIABLE");
}

TEST_F(Subprocess, inherits_only_its_three_descriptors) {
  Fd low(::open("/dev/null", O_RDONLY));  // these two would be inherited
  Fd high(::fcntl(low.get(), F_DUPFD, 900));
  ASSERT_EQ(::fcntl(high.get(), F_GETFD), 0);
  EXPECT_EQ(output_of(shell("for fd in /proc/self/fd/*; do"
                            "  if [ -e $fd ]; then echo ${fd##*/}; fi; "
                            "done")),
            "0\n1\n2\n");
}

TEST_F(Subprocess, starts_with_default_signal_handling) {
  sigset_t blocked, before;
  sigfillset(&blocked);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  std::string status = output_of({.argv = {"cat", "/proc/self/status"}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(status.find("SigBlk:\t0000000000000000\n"), std::string::npos);
  auto ignored_at = status.find("SigIgn:\t");
  ASSERT_NE(ignored_at, std::string::npos);
  std::uint64_t ignored = std::stoull(status.substr(ignored_at + 8, 16), nullptr, 16);
  EXPECT_EQ(ignored >> (SIGPIPE - 1) & 1, 0u) << "we ignore SIGPIPE, it must not";
}

TEST_F(Subprocess, leads_its_own_session) {
  auto spawned = processes_.spawn({.argv = {"cat"}});
  ASSERT_TRUE(spawned.has_value());
  EXPECT_EQ(::getsid(spawned->pid()), spawned->pid());
}

TEST_F(Subprocess, its_pipes_can_be_read_and_written) {
  auto talk = [](Process process) -> Task<void> {
    for (std::string_view line : {"one\n", "two\n"}) {
      EXPECT_TRUE((co_await process.input->write_all(line)).has_value());
      EXPECT_EQ(co_await read_line(*process.output) + "\n", line);
    }
    process.input.reset();
    Exit exit = co_await process.wait();
    EXPECT_TRUE(exit.ok());
    EXPECT_TRUE((co_await process.wait()).ok()) << "it can be asked again";
  };
  runtime_.loop.run(talk(processes_.spawn({.argv = {"cat"}}).value()));
}

TEST_F(Subprocess, a_kill_is_reported_to_every_waiter) {
  struct Waiter {
    static Task<void> run(Process& its_process, int& its_count) {
      EXPECT_EQ((co_await its_process.wait()).signal, SIGKILL);
      ++its_count;
    }
  };
  Process process = processes_.spawn({.argv = {"cat"}}).value();
  int reported = 0;
  TaskGroup group(runtime_.loop);
  group.spawn(Waiter::run(process, reported));
  group.spawn(Waiter::run(process, reported));
  runtime_.loop.run(pass(runtime_.loop, 2));
  process.kill();
  process.kill();
  runtime_.loop.run(group.join()).value();
  EXPECT_EQ(reported, 2);
  process.kill();
}

TEST_F(Subprocess, cancelling_a_wait_does_not_affect_the_child) {
  auto impatient = [](Loop& loop, Process process) -> Task<void> {
    auto outcome = co_await race(process.wait(), pass(loop, 3));
    EXPECT_EQ(outcome.winner(), 1u);
    EXPECT_TRUE((co_await process.input->write_all("still here\n")).has_value());
    EXPECT_EQ(co_await read_line(*process.output), "still here");
  };
  runtime_.loop.run(impatient(runtime_.loop, processes_.spawn({.argv = {"cat"}}).value()));
}

TEST_F(Subprocess, many_run_concurrently) {
  struct Runner {
    static Task<void> run(Processes& its_processes, int number, int& its_done) {
      Command command = shell("cat; echo $0");
      command.argv.push_back(std::to_string(number));
      command.input = "number ";
      auto finished = co_await its_processes.run(std::move(command));
      EXPECT_EQ(finished.value().output, "number " + std::to_string(number) + "\n");
      ++its_done;
    }
  };
  int done = 0;
  TaskGroup group(runtime_.loop);
  for (int i = 0; i < 30; ++i) group.spawn(Runner::run(processes_, i, done));
  runtime_.loop.run(group.join()).value();
  EXPECT_EQ(done, 30);
}

TEST_F(Subprocess, two_hundred_runs_leak_no_descriptor) {
  output_of(shell("exit 0"));
  std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    switch (i % 4) {
      case 0:
        output_of({.argv = {"cat"}, .input = "x"});
        break;
      case 1:
        EXPECT_FALSE(run({.argv = {"no-such-program"}}).has_value());
        break;
      case 2:
        EXPECT_FALSE(run({.argv = {"cat"}, .folder = folder_ / "none"}).has_value());
        break;
      case 3:
        EXPECT_TRUE(processes_.spawn({.argv = {"cat"}}).has_value());
        break;  // and dropped
    }
  }
  runtime_.loop.run(processes_.drain());
  EXPECT_EQ(open_descriptors(), before);
}

// These change process-wide state, and so run in a process of their own.
TEST(SubprocessDeathTest, a_child_has_the_original_limit_on_descriptors) {
  auto alone = [] {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 500;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    RealRuntime runtime;
    ::getrlimit(RLIMIT_NOFILE, &limit);
    Processes processes(runtime.loop, runtime.driver);
    auto finished = runtime.loop.run(processes.run(shell("ulimit -Sn")));
    bool right = limit.rlim_cur == limit.rlim_max && finished && finished->output == "500\n";
    std::_Exit(right ? 0 : 1);
  };
  EXPECT_EXIT(alone(), testing::ExitedWithCode(0), "");
}

TEST(SubprocessDeathTest, a_child_is_reaped_although_sigchld_was_inherited_ignored) {
  auto alone = [] {
    ::signal(
        SIGCHLD,
        SIG_IGN);  // as some supervisors leave it: the kernel would reap, and exit codes would be lost
    RealRuntime runtime;
    Processes processes(runtime.loop, runtime.driver);
    auto finished = runtime.loop.run(processes.run(shell("exit 3")));
    std::_Exit(finished && finished->exit.code == 3 ? 0 : 1);
  };
  EXPECT_EXIT(alone(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace specgen
