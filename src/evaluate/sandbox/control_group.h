#pragma once
// A control group with limits on memory and on processes, v2 or v1, for one sandboxed command. Named
// specgen-PID-N after the process that made it, so that what a killed process left behind can be
// told from what is in use. A group cannot be removed while somebody in it is still dying: removal
// tries for about a millisecond, and what stays is tried again with the next group and at the end.

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
  ~ControlGroup();  // kills what is inside

  std::vector<std::string> join_files() const;  // whoever writes "0" there is inside
  std::int64_t killed_for_memory() const;       // how many

 private:
  ControlGroup() = default;
  std::vector<std::filesystem::path> folders_;  // the first has the memory
};

void remove_left_over_groups();                          // of this process
void remove_groups_of_the_dead(const Cgroups& cgroups);  // of processes that were killed

// "oom_kill 3" in a file of such lines; nothing if there is no such line.
std::optional<std::int64_t> counter_in(std::string_view text, std::string_view name);

// PREFIX-PID-N: the PID; nothing for any other name.
std::optional<pid_t> maker_in_name(std::string_view name, std::string_view prefix);
bool is_dead(pid_t pid);

}  // namespace specgen
