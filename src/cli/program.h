#pragma once
// What main() of both programs does: play an internal role if the first argument names one, else run the program; print
// an error in our format, and exit with the code of its kind.

#include <span>
#include <string>

#include "base/error.h"

namespace specgen {

// `run` gets the arguments without the program's name.
int run_program(int argc, char** argv,
                Result<ExitCode> (*run)(std::span<const std::string> arguments));

}  // namespace specgen
