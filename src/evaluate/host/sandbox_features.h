#pragma once
// What this host has to confine a candidate, found by trying. It determines the highest possible level; which level
// really holds is tested later by running attacks inside the sandbox.
//
// Levels (each with rlimits and a wall clock): L3 own uid + cgroup + bubblewrap + seccomp; L2
// bubblewrap + seccomp; L1 own uid + Landlock + seccomp; L0 no confinement.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluate/host/cgroup_probe.h"
#include "evaluate/host/component.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct SandboxFeatures {
  Component bubblewrap{.name = "bubblewrap"};
  Component user_namespaces{.name = "user-namespaces"};
  Component landlock{.name = "landlock"};  // version: the ABI's number
  Component seccomp{.name = "seccomp"};
  Cgroups cgroups;
  Component own_uid{.name = "own-uid"};
  bool is_root = false;
  // The kernel's switch that forbids user namespaces, as it would have to be set
  // ("kernel.unprivileged_userns_clone=1"); empty if none does.
  std::string closed_switch;
};

enum class SandboxLevel { none = 0, lsm = 1, namespaces = 2, full = 3 };
std::string_view to_string(SandboxLevel level);  // "L3"
SandboxLevel level_possible(const SandboxFeatures& features);

// Landlock, seccomp and cgroups: immediate questions to the kernel.
void ask_kernel_for_sandbox(SandboxFeatures& into);

// `witness` is a command that is known to work outside, so a failure inside is bubblewrap's.
Task<void> probe_bubblewrap(Processes& processes, std::vector<std::string> witness, Duration limit,
                            SandboxFeatures& into);

// User namespaces and a uid of one's own, tried in a child that is then thrown away.
struct Confinement {
  Component user_namespaces{.name = "user-namespaces"};
  Component own_uid{.name = "own-uid"};
};
Confinement try_confinement();  // the child's side: the process has another uid afterwards
Json to_json(const Confinement& confinement);
Task<void> probe_confinement(Processes& processes, std::vector<std::string> self, Duration limit,
                             SandboxFeatures& into);

}  // namespace specgen
