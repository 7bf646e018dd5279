#pragma once
// Isolation for untrusted processes: compilers that read a model's source, candidates, references,
// Python modules. wrap() turns a command into one that runs inside the sandbox; the caller starts
// it with Processes like any other. The level is measured: open() runs hostile programs (poison.h)
// inside and takes the highest level that contained them. The result is cached for this boot in
// the user's cache folder.
//
//   Sandbox sandbox = CO_TRY(co_await Sandbox::open(loop, processes, options));
//   SandboxedCommand sandboxed = CO_TRY(sandbox.wrap(command, {.memory = GiB(2)}));
//   Finished finished = CO_TRY(co_await processes.run(sandboxed.command));
//   if (sandboxed.resources.killed_for_memory()) ...
//
// Levels: sandbox_features.h. Inside: no network, an empty /tmp of limited size, /usr and the paths
// of the view read-only, nothing else of the host. From L2 on there is a pid namespace, so that no
// process outlives the command. L0 (none) is refused unless `allow_none`.

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/host/sandbox_features.h"
#include "evaluate/sandbox/seccomp_filter.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct SandboxLimits {
  Bytes memory =
      GiB(4);  // of the control group if there is one, else of addresses (never with gpu)
  int processes = 64;
  Duration cpu_time = std::chrono::seconds(120);
  Bytes file_size = MiB(256);
  Bytes tmp_size = MiB(512);
};

struct SandboxView {
  // In addition to /usr, /lib*, /bin, /etc/ld.so.* and our own program.
  std::vector<std::filesystem::path> read_only = {};
  // The NVIDIA device nodes, /sys and what else the driver needs; no limit on address space.
  bool gpu = false;
};

// What one sandboxed command holds on the host: a control group (L3), a writable folder (L1), and
// if we are root a uid that no other sandbox has. The destructor kills the remaining processes and
// releases all of it.
class SandboxResources {
 public:
  SandboxResources();
  SandboxResources(SandboxResources&&) noexcept;
  SandboxResources& operator=(SandboxResources&&) noexcept;
  ~SandboxResources();
  bool killed_for_memory() const;

 private:
  friend class Sandbox;
  struct Held;
  std::unique_ptr<Held> held_;
};

struct SandboxedCommand {
  Command command;
  SandboxResources resources = {};  // must outlive the process
};

struct SandboxOptions {
  SandboxLevel at_least = SandboxLevel::lsm;           // --require-sandbox
  SandboxLevel at_most = SandboxLevel::full;           // for tests and comparisons
  bool allow_none = false;                             // --allow-unsandboxed
  std::vector<std::string> self = {"/proc/self/exe"};  // the command line of this program
};

class Sandbox {
 public:
  // Error sandbox_missing (exit code 3) if `at_least` did not hold, with what to do.
  static Task<Result<Sandbox>> open(Loop& loop, Processes& processes, SandboxOptions options);

  SandboxLevel level() const { return level_; }
  // The levels that this host should offer and that did not hold, and why; empty if there are none.
  const std::string& problems() const { return problems_; }

  // Keeps the command's limits on time and output, its input and its descriptors. The environment
  // inside is PATH, HOME, TMPDIR and what the command names. `command.folder` is a path inside; if
  // empty the private folder, $TMPDIR (/tmp from L2 on). A command that begins with `self` is our
  // own program, which is always visible. If we are root the sandbox is another user, so all users
  // must be able to read the paths of the view. Exit code 125 with "internal-sandbox: ..." on
  // standard error means that the sandbox could not be set up and the command did not run. At L0
  // the command is returned unchanged.
  Result<SandboxedCommand> wrap(Command command, SandboxLimits limits, SandboxView view = {}) const;

 private:
  Result<void> set_level(SandboxLevel level);

  SandboxLevel level_ = SandboxLevel::none;
  std::array<FilterProgram, 2> filters_;  // of this level, without and with a GPU
  SandboxFeatures features_;
  std::vector<std::string> self_;
  std::string problems_;
};

// Sandbox::wrap as a function, so that tests can run the same processes without a sandbox.
using WrapCommand = std::function<Result<SandboxedCommand>(Command, SandboxLimits, SandboxView)>;
WrapCommand wrap_with(const Sandbox& sandbox);  // the Sandbox must outlive it
WrapCommand unsandboxed();                      // returns the command unchanged

}  // namespace specgen
