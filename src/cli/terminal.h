#pragma once
// The three standard streams, as a well-behaved program uses them: results on standard output,
// all else on standard error, colour and moving lines only for a person who looks on.

#include <string>
#include <string_view>

#include "base/error.h"

namespace specgen {

// A person looks at standard output and has not asked for plain text (NO_COLOR, TERM=dumb).
bool output_has_colour();
bool errors_have_colour();  // the same for standard error

// All of it, or why not. That the reader went away (`| head`) is no error: it has what it wanted.
Result<void> print_output(std::string_view text);

void print_error(std::string_view text);  // a newline is added
void write_error(std::string_view text);  // as it is

// A line on standard error that is overwritten and, at the end, gone. Silent unless a person looks.
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
