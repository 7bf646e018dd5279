#pragma once
// The command lines of both programs, parsed by CLI11. A command line that CLI11 refuses becomes an Error in our
// format: what is wrong, the nearest valid name, and whose --help to read.

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}

namespace specgen {

// --help, --version, and the rules of parsing. Call it before adding anything: subcommands inherit them.
void set_up_program(CLI::App& app);

// Parses `arguments`, which are without the program's name. Returns the text to print if --help or --version is among
// them; `program_help` is the one without a subcommand.
Result<std::optional<std::string>> parse_arguments(
    CLI::App& app, std::span<const std::string> arguments,
    const std::function<std::string()>& program_help);

// "  --config FILE   settings to read" for every option of these, each once.
std::string option_lines(std::initializer_list<const CLI::App*> apps);
std::string command_help(const CLI::App& app, const CLI::App& command);
// Without those that only our own processes use.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

// For an argument that no option or positional takes. `command` is the subcommand in use, or null.
Error unexpected_argument(std::string_view argument, const CLI::App& app, const CLI::App* command);

}  // namespace specgen
