// A child's descendants: nothing that a Process started outlives it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/process_tree.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool gone(pid_t pid) {  // and reaped
  return ::kill(pid, 0) == -1 && errno == ESRCH;
}

using Names = std::map<std::string, pid_t>;

// Reads `count` lines "name pid".
Task<Names> read_names(AsyncFd& from, std::size_t count) {
  Names names;
  std::string line;
  std::array<char, 1> byte;
  while (names.size() < count) {
    std::size_t n = (co_await from.read_some(byte)).value();
    SG_ASSERT(n == 1, "the shell ended before its last line");
    if (byte[0] != '\n') {
      line += byte[0];
      continue;
    }
    std::istringstream words(std::exchange(line, {}));
    std::string name;
    pid_t pid = 0;
    words >> name >> pid;
    EXPECT_TRUE(names.emplace(name, pid).second) << name;
  }
  co_return names;
}

Command shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}};
}

// Every kind of descendant; the shell prints "root" when the parents of the daemons have ended.
constexpr std::size_t kFamilySize = 6;
constexpr const char* kFamily = R"(
  trap '' TERM HUP
  sh -c 'echo child $$; sh -c "echo grandchild \$\$; exec sleep 60"; :' &
  (sh -c 'echo orphan $$; exec sleep 60' &)
  (setsid sh -c 'echo daemon $$; exec sleep 60' &)
  (env -i setsid sh -c 'echo wiped $$; exec sleep 60' &)
  echo root $$
  while :; do sleep 60; done)";

class SubprocessTree : public testing::Test {
 protected:
  void TearDown() override {
    drain();
    EXPECT_EQ(processes_.alive(), 0u);
    EXPECT_TRUE(children_of(::getpid()).empty());
  }
  void drain() { runtime_.loop.run(processes_.drain()); }
  void expect_gone(const Names& names) {
    for (const auto& [name, pid] : names) EXPECT_TRUE(gone(pid)) << name;
  }
  Names start_family(Process& process) {
    Names names = runtime_.loop.run(read_names(*process.output, kFamilySize));
    for (const auto& [name, pid] : names) EXPECT_FALSE(gone(pid)) << name;
    return names;
  }

  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
};

TEST_F(SubprocessTree, dropping_the_handle_kills_everything_it_started) {
  Names family;
  {
    Process process = processes_.spawn(shell(kFamily)).value();
    family = start_family(process);
  }
  EXPECT_EQ(processes_.alive(), 1u) << "the handle is gone, the child is still to be reaped";
  drain();
  expect_gone(family);
}

TEST_F(SubprocessTree, killing_kills_everything_it_started) {
  Process process = processes_.spawn(shell(kFamily)).value();
  Names family = start_family(process);
  process.kill();
  EXPECT_EQ(runtime_.loop.run(process.wait()).signal, SIGKILL);
  drain();
  expect_gone(family);
}

TEST_F(SubprocessTree, cancelling_the_task_that_runs_it_kills_everything_it_started) {
  Names family;
  auto runner = [](Processes& processes, Names& names) -> Task<void> {
    Process process = processes.spawn(shell(kFamily)).value();
    names = co_await read_names(*process.output, kFamilySize);
    (void)co_await process.wait();
    ADD_FAILURE() << "it does not end by itself";
  };
  {
    TaskGroup group(runtime_.loop);
    group.spawn(runner(processes_, family));
    auto until_started = [](Loop& loop, const Names& names) -> Task<void> {
      while (names.empty()) co_await loop.sleep(1ms);
    };
    runtime_.loop.run(until_started(runtime_.loop, family));
  }
  drain();
  expect_gone(family);
}

TEST_F(SubprocessTree, descendants_left_when_it_exits_are_killed) {
  Command command = shell(R"(
    sleep 60 & echo child $!
    (setsid sh -c 'echo daemon $$ >&3; exec sleep 60' 3>&1 >/dev/null 2>&1 &)
    (env -i setsid sh -c 'echo wiped $$ >&3; exec sleep 60' 3>&1 >/dev/null 2>&1 &)
    read line)");
  Process process = processes_.spawn(command).value();
  Names names = runtime_.loop.run(read_names(*process.output, 3));
  process.input.reset();  // it reads the end, and exits by itself
  EXPECT_TRUE(runtime_.loop.run(process.wait()).code == 1);
  drain();
  expect_gone(names);
}

TEST_F(SubprocessTree, a_background_child_that_keeps_the_pipes_open_does_not_delay_the_run) {
  for (const char* script :
       {"sleep 60 & echo done", "setsid sleep 60 & echo done", "(setsid sleep 60 &); echo done",
        "(env -i setsid sleep 60 &); echo done", "(setsid sh -c 'sleep 60; :' &); echo done"}) {
    Command command = shell(script);
    command.time_limit = 30s;
    Result<Finished> finished = runtime_.loop.run(processes_.run(command));
    ASSERT_TRUE(finished.has_value()) << script << ": " << finished.error().text();
    EXPECT_EQ(finished->output, "done\n") << script;
  }
}

TEST_F(SubprocessTree, a_daemon_is_left_alone_while_its_process_runs) {
  Process process = processes_
                        .spawn(shell(R"(
    (setsid sh -c 'echo daemon $$; sleep 60; :' &)
    (env -i setsid sh -c 'echo wiped $$; sleep 60; :' &)
    cat)"))
                        .value();
  Names names = runtime_.loop.run(read_names(*process.output, 2));
  EXPECT_TRUE(runtime_.loop.run(processes_.run(shell("setsid sleep 60 & exit 0"))).has_value());
  auto until_swept = [](Loop& loop, Processes& processes) -> Task<void> {
    while (processes.alive() > 1) co_await loop.sleep(1ms);
  };
  runtime_.loop.run(until_swept(runtime_.loop, processes_));
  for (const auto& [name, pid] : names) EXPECT_FALSE(gone(pid)) << name;
}

TEST_F(SubprocessTree, a_deep_tree_leaves_no_zombie) {
  for (int i = 0; i < 40; ++i) {
    Process process = processes_
                          .spawn(shell(R"(
      descend() { if [ $1 -eq 0 ]; then echo bottom $$; exec sleep 60; else (descend $(($1 - 1)); :); fi; }
      descend 8)"))
                          .value();
    runtime_.loop.run(read_names(*process.output, 1));
    process.kill();
    (void)runtime_.loop.run(process.wait());
    drain();
    ASSERT_TRUE(children_of(::getpid()).empty()) << "round " << i;
  }
}

TEST_F(SubprocessTree, one_that_forks_and_exits_endlessly_is_caught) {
  // Each generation ends before it can be inspected twice. The count is for the case of a bug: what
  // escapes ends eventually.
  std::string script = testing::TempDir() + "specgen_hydra_XXXXXX";
  Fd file(::mkstemp(script.data()));
  std::ofstream(script) << "#!/bin/sh\n"
                           "if [ $1 -eq 0 ]; then exit; fi\n"
                           "if [ $1 -eq 19990 ]; then echo running $$; fi\n"
                           "setsid sh $0 $(($1 - 1)) &\n";
  file.reset();
  for (int i = 0; i < 10; ++i) {
    {
      Process process = processes_.spawn(shell("setsid sh " + script + " 20000 & cat")).value();
      runtime_.loop.run(read_names(*process.output, 1));
    }
    drain();
    ASSERT_TRUE(children_of(::getpid()).empty()) << "dropped, round " << i;
    EXPECT_TRUE(
        runtime_.loop.run(processes_.run(shell("setsid sh " + script + " 20000 &"))).has_value());
    drain();
    ASSERT_TRUE(children_of(::getpid()).empty()) << "ended by itself, round " << i;
  }
  fs::remove(script);
}

// Without the fixture: these are about Processes itself.

TEST(ProcessesEnd, kills_and_reaps_remaining_children) {
  RealRuntime runtime;
  Names family;
  {
    Processes processes(runtime.loop, runtime.driver);
    Process process = processes.spawn(shell(kFamily)).value();
    family = runtime.loop.run(read_names(*process.output, kFamilySize));
  }
  for (const auto& [name, pid] : family) EXPECT_TRUE(gone(pid)) << name;
  EXPECT_TRUE(children_of(::getpid()).empty());
}

TEST(ProcessesEnd, a_killed_parent_ends_its_children) {
  ::prctl(PR_SET_CHILD_SUBREAPER,
          1);  // the orphan is reparented here, so that the test sees how it ended
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  pid_t victim = ::fork();
  if (victim == 0) {
    RealRuntime runtime;
    Processes processes(runtime.loop, runtime.driver);
    Process process = processes.spawn({.argv = {"sleep", "20"}}).value();
    pid_t pid = process.pid();
    SG_ASSERT(::write(write_end.get(), &pid, sizeof pid) == sizeof pid, "write");
    while (true) ::pause();
  }
  pid_t orphan = 0;
  ASSERT_EQ(::read(read_end.get(), &orphan, sizeof orphan), ssize_t{sizeof orphan});
  ::kill(victim, SIGKILL);
  ASSERT_EQ(::waitpid(victim, nullptr, 0), victim);
  int status = 0;
  ASSERT_EQ(::waitpid(orphan, &status, 0), orphan);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it slept to its end";
}

TEST(ProcessesDeathTest, two_in_one_program_are_a_bug) {
  RealRuntime runtime;
  Processes processes(runtime.loop, runtime.driver);
  EXPECT_DEATH(Processes(runtime.loop, runtime.driver), "there are two Processes in one program");
}

TEST(ProcessesDeathTest, a_child_has_its_pipes_although_the_parent_has_no_standard_descriptors) {
  auto run_without = [] {
    RealRuntime runtime;
    Processes processes(runtime.loop, runtime.driver);
    for (int fd : {0, 1, 2}) ::close(fd);  // the next pipes have these numbers
    Command command = shell("cat; echo err >&2");
    command.input = "in";
    auto finished = runtime.loop.run(processes.run(command));
    bool right = finished && finished->output == "in" && finished->error_output == "err\n";
    ::_exit(right ? 0 : 1);
  };
  EXPECT_EXIT(run_without(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace specgen
