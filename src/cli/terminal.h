#pragma once
// The standard streams: results on standard output, everything else on standard error, colour and
// moving lines only on a terminal.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

// Standard output is a terminal, and neither NO_COLOR nor TERM=dumb asks for plain text.
bool output_has_colour();

// Prints all of it. A reader that goes away (`| head`) is no error.
Result<void> print_output(std::string_view text);

void print_error(std::string_view text);  // a newline is added
void write_error(std::string_view text);  // without one

// A line on standard error that is overwritten, and removed at the end. Silent without a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { show({}); }
  ProgressLine(const ProgressLine&) = delete;
  void show(std::string_view text);

 private:
  bool visible_;
  bool shown_ = false;
};

}  // namespace specgen
