#pragma once
// `specgen kv gateway`: many nodes as one, until Ctrl-C.

#include "base/error.h"
#include "cli/kv_command.h"

namespace specgen {

Result<ExitCode> serve_kv_gateway(const ServeKvGateway& command);

}  // namespace specgen
