#include "cli/progress_output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"

namespace specgen {

std::optional<TerminalSize> error_terminal() {
  if (::isatty(STDERR_FILENO) != 1) return std::nullopt;
  if (environment_variable("TERM").value_or("dumb") == "dumb") return std::nullopt;
  TerminalSize size;
  winsize told{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &told) == 0 && told.ws_col > 0 && told.ws_row > 0) {
    size.columns = told.ws_col;
    size.rows = told.ws_row;
  }
  size.colour = environment_variable("NO_COLOR").value_or("").empty();
  return size;
}

ProgressDisplay::Output error_output() {
  return [](std::string_view bytes) { write_all(STDERR_FILENO, bytes); };
}

}  // namespace specgen
