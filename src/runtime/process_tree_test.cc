#include "runtime/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using Pids = std::set<pid_t>;

Pids as_set(const std::vector<pid_t>& pids) {
  return {pids.begin(), pids.end()};
}

// A shell with its own process group, and its output. Its orphans are reparented to this process.
class Shell {
 public:
  explicit Shell(const char* script) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int ends[2];
    SG_ASSERT(::pipe2(ends, O_CLOEXEC) == 0, "pipe2");
    printed_ = Fd(ends[0]);
    Fd write_end(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::dup2(write_end.get(), 1);
      ::execlp("sh", "sh", "-c", script, nullptr);
      ::_exit(127);
    }
  }
  ~Shell() {
    ::kill(-pid_, SIGKILL);
    reap_all();
  }

  pid_t pid() const { return pid_; }

  // Reads `count` lines "name pid".
  std::map<std::string, pid_t> names(std::size_t count) {
    std::map<std::string, pid_t> all;
    while (all.size() < count) {
      std::istringstream line(read_line());
      std::string name;
      pid_t number = 0;
      line >> name >> number;
      EXPECT_TRUE(all.emplace(name, number).second);
    }
    return all;
  }

  // Waits until every child and orphan has ended; returns how each ended.
  static std::map<pid_t, int> reap_all() {
    std::map<pid_t, int> statuses;
    int status = 0;
    while (pid_t ended = ::waitpid(-1, &status, 0)) {
      if (ended < 0) break;
      statuses[ended] = status;
    }
    return statuses;
  }

 private:
  std::string read_line() {
    std::string line;
    char byte = 0;
    while (::read(printed_.get(), &byte, 1) == 1 && byte != '\n') line += byte;
    SG_ASSERT(!line.empty(), "the shell ended before its last line");
    return line;
  }

  Fd printed_;
  pid_t pid_ = 0;
};

TEST(ProcessTree, children_are_one_level_and_descendants_all_levels) {
  Shell shell(R"(
    sh -c 'echo child $$; sleep 30 & echo grandchild $!; wait' &
    sleep 30 & echo other $!
    wait)");
  auto pids = shell.names(3);
  EXPECT_EQ(as_set(children_of(shell.pid())), (Pids{pids["child"], pids["other"]}));
  EXPECT_EQ(as_set(descendants_of(shell.pid())),
            (Pids{pids["child"], pids["other"], pids["grandchild"]}));
  EXPECT_EQ(children_of(::getpid()), std::vector<pid_t>{shell.pid()});
}

TEST(ProcessTree, a_zombie_is_a_child_until_it_is_reaped) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(children_of(::getpid()), std::vector<pid_t>{pid});
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(children_of(::getpid()).empty());
  EXPECT_TRUE(descendants_of(pid).empty());
}

TEST(ProcessTree, children_of_every_thread_are_seen) {
  std::promise<pid_t> forked;
  std::promise<void> seen;
  std::thread parent([&] {
    pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    forked.set_value(pid);
    seen.get_future().wait();
  });
  pid_t pid = forked.get_future().get();
  EXPECT_EQ(children_of(::getpid()), std::vector<pid_t>{pid});
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  seen.set_value();
  parent.join();
}

TEST(ProcessTree, an_ended_process_has_no_children) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(children_of(pid).empty());
  kill_with_descendants(pid);
}

bool killed(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST(ProcessTree, killing_reaches_every_descendant_that_tried_to_escape) {
  Shell shell(R"(
    sh -c 'trap "" TERM HUP INT; echo deaf $$; while :; do sleep 30; done' &
    setsid sh -c 'echo session $$; sleep 30 & echo below $!; wait' &
    sh -c 'echo stopped $$; kill -STOP $$' &
    wait)");
  auto pids = shell.names(4);
  kill_with_descendants(shell.pid());
  auto statuses = Shell::reap_all();
  for (const auto& [name, pid] : pids) {
    ASSERT_TRUE(statuses.contains(pid)) << name;
    EXPECT_TRUE(killed(statuses[pid])) << name;
  }
  EXPECT_TRUE(killed(statuses[shell.pid()]));
  EXPECT_GE(statuses.size(), 5u);
}

TEST(ProcessTree, killing_reaches_an_orphan_that_stayed_in_the_group) {
  Shell shell("(sh -c 'echo orphan $$; exec sleep 30' &); echo root $$; exec sleep 30");
  auto pids = shell.names(2);
  kill_with_descendants(shell.pid());
  auto statuses = Shell::reap_all();
  EXPECT_TRUE(killed(statuses[pids["orphan"]]));
}

TEST(ProcessTree, killing_stops_a_process_that_keeps_forking) {
  Shell shell(R"(
    echo root $$
    made=0
    while [ $made -lt 2000 ]; do sleep 30 & made=$((made + 1)); done
    wait)");
  pid_t root = shell.names(1)["root"];
  kill_with_descendants(root);
  for (const auto& [pid, status] : Shell::reap_all()) EXPECT_TRUE(killed(status)) << pid;
}

}  // namespace
}  // namespace specgen
