#pragma once
// `specgen simulate SCENARIO`: worlds in virtual time, one for each seed; exit code 1 if something that must hold did not.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> simulate(const SimulateScenario& command);

}  // namespace specgen
