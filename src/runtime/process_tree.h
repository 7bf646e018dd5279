#pragma once
// What /proc says about processes: children, sessions, environments. Linux only, all best effort:
// a process may be gone between two looks.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace specgen {

std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> descendants_of(pid_t pid);

// Kills the process, its group and every descendant. Each is stopped first, so that none can fork
// away.
void kill_with_descendants(pid_t root);

// The value of a variable in the environment a process was started with; empty if there is none.
std::string environment_of(pid_t pid, std::string_view name);

}  // namespace specgen
