#pragma once
// What to answer when a command line is not understood: what was wrong, what was probably meant,
// and where the right words are listed. Knows names only, no parser.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

struct CommandNames {
  std::string name;                // "doctor"; the program's own entry has none
  std::vector<std::string> flags;  // "--json"
};

struct ProgramNames {
  std::string program;                 // "specgen"
  std::vector<std::string> flags;      // those of every command
  std::vector<CommandNames> commands;  // that a user may type
};

// For a word that the parser had no use for. `command` is the one that was chosen, or empty.
Error unexpected_word(std::string_view typed, std::string_view command, const ProgramNames& names);

// For all else that a parser may complain about.
Error bad_usage(std::string complaint, std::string_view command, const ProgramNames& names);

}  // namespace specgen
