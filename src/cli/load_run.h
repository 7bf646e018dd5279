#pragma once
// A run's folder, read on a loop of its own, for the commands that look at runs.

#include <string>

#include "base/error.h"
#include "report/run_data.h"

namespace specgen {

Result<RunData> load_run(const std::string& folder, RunDepth depth = RunDepth::everything);

}  // namespace specgen
