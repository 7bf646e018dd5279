#pragma once
// `specgen compare` on the devices of this host: the tasks, the systems, and what came of them.

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_line.h"
#include "compare/comparison.h"
#include "compare/system.h"

namespace specgen {

// `made_by`: run_identity().
Result<std::vector<ComparedSetting>> runs_for_real(const CompareSystems& command,
                                                   const std::vector<System>& chosen,
                                                   std::string made_by);

}  // namespace specgen
