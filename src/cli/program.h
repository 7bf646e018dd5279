#pragma once
// What main() of both programs does: parse, do it, tell an error in our format, and exit with the
// code that the error's kind stands for. Help, version and internal roles are done here; the rest is
// `do_command`'s.

#include <span>
#include <string>

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

int run_program(int argc, char** argv, Result<Invocation> (*parse)(std::span<const std::string>),
                Result<ExitCode> (*do_command)(const Invocation&));

}  // namespace specgen
