#pragma once
// Whether memory and the number of processes can be limited here, tested by making a control group, setting the limits
// and removing it. Supports cgroup v2 and v1: hosts have either or both.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/host/component.h"

namespace specgen {

// Where groups may be possible, from the kernel's tables; v2 first.
struct CgroupPlace {
  std::string version = {};                        // "v2" or "v1"
  std::vector<std::filesystem::path> memory = {};  // folders to try in turn, our own group first
  std::vector<std::filesystem::path> pids = {};    // for v2 the same as memory
};
std::vector<CgroupPlace> cgroup_places(std::string_view mountinfo, std::string_view own_groups);

struct Cgroups {
  Component cgroup{.name = "cgroup"};   // version: "v1" or "v2"
  std::filesystem::path memory_folder;  // where groups with a limit on memory can be made
  std::filesystem::path pids_folder;    // and with one on processes; in v2 the same
  // v2, if this is the only obstacle: the root's list of controllers, which lacks memory or pids
  // although the kernel has them. It is not changed here because it affects the whole host.
  std::filesystem::path closed_switch;
};

Cgroups probe_cgroups();
Cgroups try_cgroups(const std::vector<CgroupPlace>& places);

}  // namespace specgen
