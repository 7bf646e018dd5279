#pragma once
// A control group, v2 or v1, that limits the memory and the processes of one sandboxed command. It
// is named specgen-PID-N after the process that made it, so that groups left behind by a killed
// process can be recognised. The kernel does not remove a group while a process in it is still
// exiting: such a group is removed later, when the next one is made or at the end of the program.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/host/cgroup_probe.h"

namespace specgen {

class ControlGroup {
 public:
  static Result<ControlGroup> make(const Cgroups& cgroups, Bytes memory, int processes);
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) = delete;
  ~ControlGroup();  // kills the processes in it

  std::vector<std::string> join_files() const;  // a process that writes "0" to them joins
  std::int64_t killed_for_memory() const;       // number of processes

 private:
  ControlGroup() = default;
  std::vector<std::filesystem::path> folders_;  // the first one limits memory
};

void remove_left_over_groups();  // of this process
void remove_groups_of_dead_processes(const Cgroups& cgroups);

// The count after a name, as 3 of "oom_kill 3"; nothing if there is no such line.
std::optional<std::int64_t> counter_in(std::string_view text, std::string_view name);

// The PID of PREFIX-PID-N; nothing for any other name.
std::optional<pid_t> creator_from_name(std::string_view name, std::string_view prefix);
bool is_dead(pid_t pid);

}  // namespace specgen
