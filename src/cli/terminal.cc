#include "cli/terminal.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/environment.h"
#include "base/file.h"

namespace specgen {

bool output_has_colour() {
  return ::isatty(STDOUT_FILENO) == 1 && environment_variable("NO_COLOR").value_or("").empty() &&
         environment_variable("TERM").value_or("dumb") != "dumb";
}

Result<void> print_output(std::string_view text) {
  ::signal(SIGPIPE, SIG_IGN);
  int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) return fail_errno("standard output", error);
  return {};
}

void print_error(std::string_view text) {
  std::string line(text);
  line += '\n';
  write_error(line);
}

void write_error(std::string_view text) {
  write_all(STDERR_FILENO, text);  // there is no place left to report a failure
}

ProgressLine::ProgressLine() : visible_(::isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(std::string_view text) {
  if (!visible_ || (text.empty() && !shown_)) return;
  shown_ = !text.empty();
  std::string line = "\r\x1b[K";
  line += text;
  write_all(STDERR_FILENO, line);
}

}  // namespace specgen
