#pragma once
// Which specgen makes runs, in a line: what is kept of a comparison is taken only by one that would run it the same.
//
// It is the version, what prompts and triggers say, and kRunVersion. It is not the program's own bytes: who only builds
// it anew, or changes a help text, must not lose an hour of runs.

#include <string>
#include <string_view>

#include "base/error.h"
#include "simulate/simulation.h"

namespace specgen {

// To be raised whenever what a run does changes: in the search, speculation, scheduling or judging, by the author or in
// the simulated simulation. Nothing else tells runs before such a change from those after it.
inline constexpr int kRunVersion = 1;

// "specgen 0.1.0, runs 1, prompts and triggers 6f1c..."; the folders' names are no part of it.
Result<std::string> run_identity(std::string_view version, const DataFolders& folders);

}  // namespace specgen
