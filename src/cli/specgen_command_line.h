#pragma once
// From the arguments of `specgen` to the command to run.

#include <span>
#include <string>

#include "base/error.h"
#include "cli/commands/commands.h"

namespace specgen {

struct Invocation {
  CommandContext context;
  std::unique_ptr<CliCommand> command;
};

// Parses and validates the arguments, which are without the program's name. Help and version are commands too.
Result<Invocation> parse_specgen(std::span<const std::string> arguments);

}  // namespace specgen
