#pragma once
// `specgen compare`: systems side by side on the same tasks, seeds and budgets.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> compare_systems(const CompareSystems& command);

}  // namespace specgen
