#include "cli/terminal.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/environment.h"
#include "base/file.h"

namespace specgen {
namespace {

bool has_colour(int stream) {
  return ::isatty(stream) == 1 && environment_variable("NO_COLOR").value_or("").empty() &&
         environment_variable("TERM").value_or("dumb") != "dumb";
}

}  // namespace

bool output_has_colour() {
  return has_colour(STDOUT_FILENO);
}
bool errors_have_colour() {
  return has_colour(STDERR_FILENO);
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
  write_all(STDERR_FILENO, text);  // nobody is left to be told that this failed
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
