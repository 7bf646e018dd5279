#pragma once
// Standard error as report/progress_display.h wants it: where lines go, and how large the terminal is.

#include <optional>

#include "report/progress_display.h"

namespace specgen {

// Nothing where no person looks on (a file, a pipe, TERM=dumb).
std::optional<TerminalSize> error_terminal();
ProgressDisplay::Output error_output();

}  // namespace specgen
