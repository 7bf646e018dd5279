#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/version.h"

namespace specgen {
namespace {

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

const CLI::App* chosen_command(CLI::App& app) {
  auto commands = app.get_subcommands();
  return commands.empty() ? nullptr : commands.front();
}

Error bad_usage(std::string complaint, const CLI::App& app, const CLI::App* command) {
  std::string name = app.get_name();
  if (command) name += " " + command->get_name();
  return {ErrorCode::bad_usage, std::move(complaint), fmt::format("see `{} --help`", name)};
}

Error unknown_command(std::string_view typed, const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : visible_commands(app)) known.push_back(command->get_name());
  if (known.empty()) {
    return bad_usage(fmt::format("unexpected argument '{}'", typed), app, nullptr);
  }
  return bad_usage(fmt::format("unknown command '{}'{}", typed, did_you_mean(typed, known)), app,
                   nullptr);
}

Error unknown_flag(std::string_view typed, const CLI::App& app, const CLI::App* command) {
  std::string flag(typed.substr(0, typed.find('=')));
  if (!command) {
    for (const CLI::App* each : visible_commands(app)) {
      if (!is_among(flags_of(*each), flag)) continue;
      return bad_usage(fmt::format("'{}' comes after its command: {} {} {}", flag, app.get_name(),
                                   each->get_name(), flag),
                       app, nullptr);
    }
  }
  std::vector<std::string> known = flags_of(app);
  if (command) {
    for (std::string& name : flags_of(*command)) known.push_back(std::move(name));
  }
  constexpr std::size_t kShortFlag = 2;  // "-x": any other letter would be as near
  std::string hint = flag.size() > kShortFlag ? did_you_mean(flag, known) : std::string();
  return bad_usage(fmt::format("unknown flag '{}'{}", flag, hint), app, command);
}

// CLI11's message of ArgumentMismatch names types and counts; ours names the flag.
std::string value_complaint(std::string_view message) {
  std::string flag(message.substr(0, message.find_first_of(": ")));
  if (!flag.starts_with('-')) flag.insert(0, "--");
  std::string_view what = message.contains("At Most")    ? "is given more than once"
                          : message.contains("required") ? "needs a value"
                                                         : "takes no value";
  return fmt::format("'{}' {}", flag, what);
}

// "Could not convert: --seed = x". Only numbers are converted by CLI11 itself.
std::string conversion_complaint(std::string_view message) {
  constexpr std::string_view kStart = "Could not convert: ";
  std::size_t equals = message.find(" = ");
  if (!message.starts_with(kStart) || equals == message.npos) return std::string(message);
  return fmt::format("{}: '{}' is not a valid number",
                     message.substr(kStart.size(), equals - kStart.size()),
                     message.substr(equals + 3));
}

// Breaks a text at blanks so that no line exceeds the width of help; further lines are indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t kColumns = 98;
  std::string lines;
  std::size_t column = indent;
  for (std::string_view word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

}  // namespace

void set_up_program(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", fmt::format("{} {}\n", app.get_name(), version()),
                       "print the version of this program");
  app.fallthrough();             // flags of the program may also follow the command
  app.require_subcommand(0, 1);  // after a command, another command's name is a positional
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::string option_lines(std::initializer_list<const CLI::App*> apps) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<std::string> seen;
  for (const CLI::App* app : apps) {
    for (const CLI::Option* option : app->get_options()) {
      std::string name = option->get_name(false, true);  // "-h,--help"
      bool is_hidden = option->get_group().empty();
      if (is_hidden || !option->nonpositional() || is_among(seen, name)) continue;
      seen.push_back(name);
      if (auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
      std::string type = option->get_type_name();  // "N", or "N:INT in [1 - 100]"
      if (option->get_type_size() > 0) name += " " + type.substr(0, type.find(':'));
      rows.emplace_back(name, option->get_description());
    }
  }
  std::size_t width = 0;
  for (const auto& [name, _] : rows) width = std::max(width, name.size());
  std::string lines;
  for (const auto& [name, description] : rows) {
    lines += fmt::format("  {:<{}}   {}\n", name, width, wrapped(description, width + 5));
  }
  return lines;
}

std::string command_help(const CLI::App& app, const CLI::App& command) {
  std::string positionals;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    std::string name = option->get_name(true);
    positionals += option->get_required() ? " " + name : " [" + name + "]";
  }
  std::string description;
  for (std::string_view line : split(command.get_description(), '\n')) {
    description += wrapped(line, 0) + "\n";
  }
  return fmt::format("{}\nusage: {} {}{} [options]\n\noptions:\n{}", description, app.get_name(),
                     command.get_name(), positionals, option_lines({&command, &app}));
}

Error unexpected_argument(std::string_view argument, const CLI::App& app, const CLI::App* command) {
  if (argument.starts_with('-')) return unknown_flag(argument, app, command);
  if (!command) return unknown_command(argument, app);
  return bad_usage(fmt::format("unexpected argument '{}' for '{}'", argument, command->get_name()),
                   app, command);
}

Result<std::optional<std::string>> parse_arguments(
    CLI::App& app, std::span<const std::string> arguments,
    const std::function<std::string()>& program_help) {
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForVersion& version_text) {
    return version_text.what();
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = chosen_command(app);
    return command ? command_help(app, *command) : program_help();
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> unused = app.remaining(true);
    std::string first = unused.empty() ? std::string() : unused.front();
    return std::unexpected(unexpected_argument(first, app, chosen_command(app)));
  } catch (const CLI::ArgumentMismatch& error) {
    return std::unexpected(bad_usage(value_complaint(error.what()), app, chosen_command(app)));
  } catch (const CLI::ConversionError& error) {
    return std::unexpected(bad_usage(conversion_complaint(error.what()), app, chosen_command(app)));
  } catch (const CLI::ParseError& error) {
    return std::unexpected(bad_usage(error.what(), app, chosen_command(app)));
  }
}

}  // namespace specgen
