#pragma once
// `specgen replay`: a server that answers from a cassette, until Ctrl-C.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> replay_cassette(const ReplayCassette& command);

}  // namespace specgen
