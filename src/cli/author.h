#pragma once
// `specgen author --listen HOST:PORT`: the built-in author behind an OpenAI-compatible API, until it is
// interrupted.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> serve_author(const ServeAuthor& command);

}  // namespace specgen
