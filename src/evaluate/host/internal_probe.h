#pragma once
// Probes that may crash, hang or change the process that makes them run in a child: this same
// program, called as `PROGRAM internal-probe WHAT`, prints one line of JSON and ends. A crash or a
// hang is then a fact about the host and does not affect us.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

inline constexpr std::string_view kInternalProbe = "internal-probe";

// The child's side. unknown_name for an unknown WHAT. The caller prints the answer and ends with _exit(): exit handlers
// of vendor libraries can crash.
Result<std::string> answer_internal_probe(std::string_view what);

// The parent's side. `self` is how this program is called, {"/proc/self/exe"} outside of tests. The
// error's context says what the child did instead of answering.
Task<Result<Json>> ask_internal_probe(Processes& processes, std::vector<std::string> self,
                                      std::string what, Duration limit);

}  // namespace specgen
