#pragma once
// One line that identifies the specgen that makes runs: stored results of a comparison are reused only by a
// specgen with
// the same identity.
//
// It consists of the version, the content of prompts and triggers, and kRunVersion. The program's own bytes
// are not part
// of it: a rebuild or a changed help text must not discard an hour of runs.

#include <string>
#include <string_view>

#include "base/error.h"
#include "simulate/simulation.h"

namespace specgen {

// Raise it whenever the behaviour of runs changes: in search, speculation, scheduling, evaluation, the author or the
// simulation. Nothing else distinguishes runs before such a change from those after it.
inline constexpr int kRunVersion = 1;

// "specgen 0.1.0, runs 1, prompts and triggers 6f1c..."; the names of the folders are not part of it.
Result<std::string> run_identity(std::string_view version, const DataFolders& folders);

}  // namespace specgen
