#include "cli/specgen_command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

// In the order of the help text.
constexpr std::array kAddCommands{
    add_optimize_command, add_eval_command,   add_tasks_command,   add_new_task_command,
    add_doctor_command,   add_runs_command,   add_report_command,  add_verify_command,
    add_export_command,   add_probe_command,  add_compare_command, add_simulate_command,
    add_triggers_command, add_author_command, add_record_command,  add_replay_command,
    add_kv_command,
};

class PrintText : public CliCommand {
 public:
  explicit PrintText(std::string text, bool is_requested = true)
      : text_(std::move(text)), is_requested_(is_requested) {}

  Result<ExitCode> run(const CommandContext&) override {
    if (is_requested_) {
      TRY(print_output(text_));
      return ExitCode::done;
    }
    print_error(trim(text_));
    return ExitCode::usage;
  }

 private:
  std::string text_;
  bool is_requested_;  // else it answers a command line without a command
};

std::string specgen_help(const CLI::App& app) {
  std::string commands;
  for (const CLI::App* command : visible_commands(app)) {
    commands +=
        fmt::format("  {:<8}   {}\n", command->get_name(), first_line(command->get_description()));
  }
  return fmt::format(
      "specgen makes GPU and CPU kernels faster: a model writes them, this host judges and times "
      "them.\n\n"
      "usage: specgen COMMAND [options]\n\n"
      "commands:\n{}\n"
      "options:\n{}\n"
      "example:\n"
      "  specgen optimize softmax --model author     make a kernel faster\n"
      "  specgen eval softmax my_softmax.cc          judge a kernel\n\n"
      "exit codes: 0 done, 1 failed, 2 wrong usage, 3 something of this host is missing or "
      "broken,\n"
      "130 interrupted\n\n"
      "documentation: README.md and docs/ of the source tree\n",
      commands, option_lines({&app}));
}

Result<std::string> help_about(const std::string& name, const CLI::App& app) {
  for (const CLI::App* command : visible_commands(app)) {
    if (command->get_name() == name) return command_help(app, *command);
  }
  return std::unexpected(unexpected_argument(name, app, nullptr));
}

}  // namespace

Result<Invocation> parse_specgen(std::span<const std::string> arguments) {
  CLI::App app("specgen", "specgen");
  set_up_program(app);
  std::string config, help_topic;
  app.add_option("--config", config,
                 "settings to use instead of ./specgen.toml or ~/.config/specgen/specgen.toml")
      ->type_name("FILE");
  std::vector<AddedCommand> commands;
  for (auto* add : kAddCommands) commands.push_back(add(app));
  CLI::App* help = app.add_subcommand("help", "print this help, or that of one command");
  help->add_option("COMMAND", help_topic, "whose help to print");

  auto text = TRY(parse_arguments(app, arguments, [&] { return specgen_help(app); }));
  Invocation invocation;
  if (!config.empty()) invocation.context.config = config;
  if (text) {
    invocation.command = std::make_unique<PrintText>(std::move(*text));
    return invocation;
  }
  for (AddedCommand& added : commands) {
    if (!added.app->parsed()) continue;
    TRY(added.command->validate());
    invocation.command = std::move(added.command);
    return invocation;
  }
  if (!help_topic.empty()) {
    invocation.command = std::make_unique<PrintText>(TRY(help_about(help_topic, app)));
  } else {
    invocation.command = std::make_unique<PrintText>(specgen_help(app), help->parsed());
  }
  return invocation;
}

}  // namespace specgen
