#pragma once
// `specgen optimize TASK...`: the product's main job. A folder for the run, its devices, its model, the search; then
// the summary and the report. Ctrl-C once: what was judged is kept, the report is written, and `--resume` goes on.
// Twice: at once.

#include "base/error.h"
#include "cli/optimize_command.h"
#include "cli/settings.h"

namespace specgen {

Result<ExitCode> optimize(const Optimize& command, const Settings& settings);

}  // namespace specgen
