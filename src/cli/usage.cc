#include "cli/usage.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace specgen {
namespace {

std::string help_of(std::string_view command, const ProgramNames& names) {
  if (command.empty()) return fmt::format("see `{} --help`", names.program);
  return fmt::format("see `{} {} --help`", names.program, command);
}

const CommandNames* find(std::string_view command, const ProgramNames& names) {
  auto found = std::ranges::find(names.commands, command, &CommandNames::name);
  return found == names.commands.end() ? nullptr : &*found;
}

}  // namespace

Error bad_usage(std::string complaint, std::string_view command, const ProgramNames& names) {
  return {ErrorCode::bad_usage, std::move(complaint), help_of(command, names)};
}

Error unexpected_word(std::string_view typed, std::string_view command, const ProgramNames& names) {
  if (!typed.starts_with('-')) {
    if (!command.empty()) {
      return bad_usage(fmt::format("'{}' is one word too many for '{}'", typed, command), command,
                       names);
    }
    std::vector<std::string> known;
    known.reserve(names.commands.size());
    for (const CommandNames& each : names.commands) known.push_back(each.name);
    if (known.empty()) {
      return bad_usage(fmt::format("'{}' is one word too many", typed), command, names);
    }
    return bad_usage(fmt::format("there is no command '{}'{}", typed, did_you_mean(typed, known)),
                     command, names);
  }
  std::string flag(typed.substr(0, typed.find('=')));
  if (command.empty()) {
    for (const CommandNames& each : names.commands) {
      if (std::ranges::find(each.flags, flag) == each.flags.end()) continue;
      return bad_usage(fmt::format("'{}' comes after its command: {} {} {}", flag, names.program,
                                   each.name, flag),
                       command, names);
    }
  }
  constexpr std::size_t kShortFlag = 2;  // "-x": any other letter would be as near
  std::vector<std::string> known = names.flags;
  if (const CommandNames* chosen = find(command, names)) {
    known.insert(known.end(), chosen->flags.begin(), chosen->flags.end());
  }
  std::string hint = flag.size() > kShortFlag ? did_you_mean(flag, known) : std::string();
  return bad_usage(fmt::format("there is no flag '{}'{}", flag, hint), command, names);
}

}  // namespace specgen
