// `specgen`: the command.

#include "cli/program.h"
#include "cli/specgen_command_line.h"

namespace specgen {
namespace {

Result<ExitCode> run_specgen(std::span<const std::string> arguments) {
  Invocation invocation = TRY(parse_specgen(arguments));
  return invocation.command->run(invocation.context);
}

}  // namespace
}  // namespace specgen

int main(int argc, char** argv) {
  return specgen::run_program(argc, argv, specgen::run_specgen);
}
