#pragma once
// `specgen optimize` and `specgen probe`: one search from its folder to its report. Ctrl-C once: judged kernels are
// kept, the report is written, and `--resume` continues the run. Twice: at once.

#include "base/error.h"
#include "cli/search_options.h"
#include "cli/settings.h"

namespace specgen {

Result<ExitCode> run_search(const SearchOptions& options, const Settings& settings);

}  // namespace specgen
