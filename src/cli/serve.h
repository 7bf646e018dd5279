#pragma once
// `specgen-node`: serves this host's devices to a controller on standard input and output.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> serve_node(const ServeNode& command);

}  // namespace specgen
