#pragma once
// Child processes. Processes owns every child that was ever started until it is reaped: a Process handle may be
// dropped at any time (and is, when its task is cancelled), then its whole tree is killed and reaped behind the
// scenes. No zombie stays, and no descriptor but 0, 1, 2 and those that are named is inherited. When we are
// killed, our children die with us; what they have started lives on (a sandbox with a process namespace is the
// cure where that matters).
// There is one Processes in a program, as there is one set of children.
//
//   Processes processes(loop, driver);
//   Finished gcc = CO_TRY(co_await processes.run({.argv = {"g++", "--version"}, .time_limit = 5s}));
//
// "The tree" is the child's process group, its descendants, and daemons that left both: those stay below the child
// while it lives, because it is a subreaper, and come to us when it ends, because we are one.

#include <sys/types.h>

#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "runtime/async_fd.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/sync.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace specgen {

struct Command {
  std::vector<std::string> argv;  // argv[0] is looked up by find_program()
  std::optional<std::vector<std::string>> environment = {};  // NAME=VALUE; ours if not given
  std::filesystem::path folder = {};                         // to run in; ours if empty
  std::string input = {};                                    // for its standard input
  std::vector<int> descriptors = {};  // of ours that the child gets as 3, 4, ...; stay ours
  Bytes output_limit = MiB(1);        // of standard output and of standard error, each
  Duration time_limit = std::chrono::seconds(60);
};

struct Exit {
  int code = -1;   // -1 if a signal ended it
  int signal = 0;  // 0 if it exited by itself
  bool ok() const { return code == 0; }
};
std::string to_string(Exit exit);  // "exit code 3", "signal 9 (Killed)"

struct Finished {
  Exit exit;
  std::string output;
  std::string error_output;
  Duration took{};
};

class Processes;

namespace detail {
struct Running {  // what is known of a child; shared by its handle and Processes
  explicit Running(Loop& loop) : exited(loop) {}
  pid_t pid = 0;
  Event exited;
  Exit exit;
};
}  // namespace detail

// A running child with its three pipes. Input is closed by dropping the pipe.
class Process {
 public:
  Process(Process&&) noexcept = default;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return running_->pid; }
  Task<Exit> wait();
  void kill();  // the whole tree, now; wait() then tells how it ended

  std::unique_ptr<AsyncFd> input;
  std::unique_ptr<AsyncFd> output;
  std::unique_ptr<AsyncFd> error_output;

 private:
  friend class Processes;
  Process(Processes& owner, std::shared_ptr<detail::Running> running);
  Processes* owner_;
  std::shared_ptr<detail::Running> running_;
};

class Processes {
 public:
  Processes(Loop& loop, RealDriver& driver);
  ~Processes();  // kills what is left and waits for it, a second at most; drain() is the polite
                 // way

  Result<Process> spawn(const Command& command);  // input, output_limit and time_limit are run()'s

  // Runs it to its end. A time or output limit that is passed is an error, a bad exit code is not.
  Task<Result<Finished>> run(Command command);

  // Until every child that was started has been reaped.
  Task<void> drain();
  std::size_t alive() const { return running_.size(); }

 private:
  friend class Process;
  Task<void> reap(std::shared_ptr<detail::Running> running, std::unique_ptr<AsyncFd> pidfd);
  void kill_tree(const detail::Running& running);
  std::size_t kill_strays();
  bool is_own_child(pid_t pid) const;

  Loop& loop_;
  RealDriver& driver_;
  std::list<std::shared_ptr<detail::Running>> running_;
  TaskGroup reapers_;
};

}  // namespace specgen
