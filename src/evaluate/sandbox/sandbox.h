#pragma once
// Walls around what is not trusted: compilers at work on a model's source, candidates, references,
// Python modules. wrap() turns a command into one that runs inside; the caller starts it with
// Processes as any other. The level is not assumed: open() runs poison inside and takes the highest
// level that held (the answer is kept for this boot in the user's cache folder).
//
//   Sandbox sandbox = CO_TRY(co_await Sandbox::open(loop, processes, wish));
//   Boxed boxed = CO_TRY(sandbox.wrap(command, {.memory = GiB(2)}));
//   Finished f = CO_TRY(co_await processes.run(boxed.command));
//   if (boxed.cage.killed_for_memory()) ...
//
// Levels: sandbox_features.h. Inside: no network, an empty /tmp of limited size, /usr and what the
// view names read-only, nothing else of the host; own pid namespace where there are namespaces, so
// that nobody survives. L0 (none) is refused unless `allow_none`.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/host/sandbox_features.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct BoxLimits {
  Bytes memory = GiB(4);  // cgroup where there is one, else address space (never with gpu)
  int processes = 64;
  Duration cpu_time = std::chrono::seconds(120);
  Bytes file_size = MiB(256);
  Bytes tmp_size = MiB(512);
};

struct BoxView {
  std::vector<std::filesystem::path> read_only =
      {};  // beside /usr, /lib*, /bin, /etc/ld.so.*, our own program
  bool gpu =
      false;  // the NVIDIA device nodes, /sys and what the driver needs; no limit on address space
};

// What one boxed command has on the host: at L3 a control group, at L1 a folder to write to, and
// with root's rights a uid that no other box has. Gone with it.
class Cage {
 public:
  Cage();
  Cage(Cage&&) noexcept;
  Cage& operator=(Cage&&) noexcept;
  ~Cage();  // kills what is left inside and removes the group, retrying while it is busy
  bool killed_for_memory() const;

 private:
  friend class Sandbox;
  struct Group;
  std::unique_ptr<Group> group_;
};

struct Boxed {
  Command command;
  Cage cage;  // must outlive the process
};

struct SandboxWish {
  SandboxLevel at_least = SandboxLevel::lsm;           // --require-sandbox
  SandboxLevel at_most = SandboxLevel::full;           // for tests and comparisons
  bool allow_none = false;                             // --allow-unsandboxed
  std::vector<std::string> self = {"/proc/self/exe"};  // how this program is called
};

class Sandbox {
 public:
  // Error sandbox_missing (exit code 3) if the level wished for did not hold, with what to do.
  static Task<Result<Sandbox>> open(Loop& loop, Processes& processes, SandboxWish wish);

  SandboxLevel level() const { return level_; }
  // Higher levels that should be possible here and did not hold, and why; empty if there are none.
  const std::string& problems() const { return problems_; }
  // Limits on time and output, input and descriptors stay as they are. Of the environment only what
  // the command names gets inside, beside PATH, HOME and TMPDIR; `folder` is one inside, the private
  // one if empty (it is $TMPDIR: /tmp from L2 on). A command that begins like `self` is our own
  // program, wherever it lies. With root's rights the box is another user: what the view names must
  // be readable by all. Exit code 125 with "internal-box: ..." on standard error means that the box
  // could not be built and nothing ran. At L0 the command comes back as it is.
  Result<Boxed> wrap(Command command, BoxLimits limits, BoxView view = {}) const;

 private:
  SandboxLevel level_ = SandboxLevel::none;
  SandboxFeatures features_;
  std::vector<std::string> self_;
  std::string problems_;
};

}  // namespace specgen
