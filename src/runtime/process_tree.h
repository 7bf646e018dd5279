#pragma once
// Children and descendants of a process, read from /proc. Best effort: processes may start and end meanwhile.

#include <sys/types.h>

#include <vector>

namespace specgen {

std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> descendants_of(pid_t pid);

// Kills the process, its group and every descendant. Each is stopped first, so that it cannot fork meanwhile.
void kill_with_descendants(pid_t root);

}  // namespace specgen
