#pragma once
// Child processes.
//
//   Processes processes(loop, driver);
//   Finished gcc = CO_TRY(co_await processes.run({.argv = {"g++", "--version"}, .time_limit = 5s}));
//
// Ownership: Processes owns every child until it is reaped; there is one Processes per program. A Process is a
// handle: destroying it (which cancelling its task does) kills the child's whole tree, and Processes reaps it in
// the background. No zombie is left.
// The tree is the child's process group, its descendants, and daemons that left both: each child is a subreaper, so
// daemons stay below it while it runs; this process is one too, so they are reparented to it when the child ends,
// and killed.
// Inheritance: a child gets descriptors 0, 1, 2 and those named in its Command, no others.
// If this process is killed, the kernel kills its direct children, but not their descendants; where that matters,
// run the child in a sandbox with a PID namespace.
// Threads: loop thread only.

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
  std::vector<std::string> argv;  // argv[0] is resolved by find_program()
  std::optional<std::vector<std::string>> environment = {};  // NAME=VALUE; inherited if not given
  std::filesystem::path folder = {};  // working directory; inherited if empty
  std::string input = {};             // written to standard input
  std::vector<int> descriptors =
      {};                       // duplicated into the child as 3, 4, ...; the caller keeps its own
  Bytes output_limit = MiB(1);  // of standard output and of standard error, each
  Duration time_limit = std::chrono::seconds(60);
};

struct Exit {
  int code = -1;   // -1 if it was killed by a signal
  int signal = 0;  // 0 if it exited
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
struct Running {  // a child's state, shared by its handle and Processes
  explicit Running(Loop& loop) : exited(loop) {}
  pid_t pid = 0;
  Event exited;
  Exit exit;
};
}  // namespace detail

// A running child with its three pipes. Reset `input` to close the child's standard input.
class Process {
 public:
  Process(Process&&) noexcept = default;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return running_->pid; }
  Task<Exit> wait();
  void kill();  // the whole tree, now; wait() then returns how it ended

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
  ~Processes();  // kills all children and blocks up to one second until they are reaped

  // Starts a child; the caller reads and writes its pipes. Ignores input, output_limit and time_limit.
  Result<Process> spawn(const Command& command);

  // Runs a child to its end. Exceeding a time or output limit is an error; a non-zero exit code is not.
  Task<Result<Finished>> run(Command command);

  // Waits until all children have been reaped.
  Task<void> drain();
  std::size_t alive() const { return running_.size(); }

 private:
  friend class Process;
  Result<Process> own_child(std::shared_ptr<detail::Running> running, Fd input, Fd output,
                            Fd errors);
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
