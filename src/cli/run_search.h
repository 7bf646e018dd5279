#pragma once
// `specgen optimize` and `specgen probe`: one search from its folder to its report. Ctrl-C once: judged kernels are
// kept, the report is written, and `--resume` continues the run; the exit code is 130. Twice: at once.

#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/search_options.h"
#include "cli/settings.h"
#include "search/run_state.h"

namespace specgen {

// After Ctrl-C, as shells report it.
inline constexpr ExitCode kInterruptedCode{130};

Result<ExitCode> run_search(const SearchOptions& options, const Settings& settings);

// For the end of a run: the files with the best kernels, and the commands to use them with. `model_new`: they are
// Python modules.
std::string next_steps(const RunState& state, const std::filesystem::path& folder, bool model_new);

}  // namespace specgen
