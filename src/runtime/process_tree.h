#pragma once
// What /proc says about processes: children and their children. Linux only, all best effort:
// a process may be gone between two looks.

#include <sys/types.h>

#include <vector>

namespace specgen {

std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> descendants_of(pid_t pid);

// Kills the process, its group and every descendant. Each is stopped first, so that none can fork
// away.
void kill_with_descendants(pid_t root);

}  // namespace specgen
