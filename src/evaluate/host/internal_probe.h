#pragma once
// Probes that may crash, hang or change the process that makes them run in a child: this same
// program, called as `PROGRAM internal-probe WHAT`, prints one line of JSON and ends. A crash or a
// hang is then a finding about the host, not our end.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

inline constexpr std::string_view kInternalProbe = "internal-probe";

// The child's side. unknown_name for a WHAT that there is not. The caller prints the answer and
// leaves by _exit(): exit handlers of vendor libraries are not to be trusted.
Result<std::string> answer_internal_probe(std::string_view what);

// The asking side. `self` is how this program is called, {"/proc/self/exe"} outside of tests. The
// error's context says in plain words what the child did instead of answering.
Task<Result<Json>> ask_internal_probe(Processes& processes, std::vector<std::string> self,
                                      std::string what, Duration limit);

}  // namespace specgen
