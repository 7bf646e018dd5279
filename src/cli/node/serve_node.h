#pragma once
// `specgen-node` as a server: this host's devices for a controller on standard input and output, spare memory for LLM
// servers as a KV cache, or both.

#include "base/error.h"
#include "cli/node/node_options.h"

namespace specgen {

// Until the controller closes standard input, or a signal.
Result<ExitCode> serve_node(const ServeNode& request);

}  // namespace specgen
