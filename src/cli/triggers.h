#pragma once
// `specgen triggers FILE`: what matches in a trace, where it would be cut, and what would be harvested from it. Runs
// nothing and asks nobody: for fitting patterns to a model, and for seeing why there was a fork, or none.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> show_triggers(const ShowTriggers& command);

}  // namespace specgen
