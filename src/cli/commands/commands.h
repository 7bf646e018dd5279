#pragma once
// The commands of `specgen`, one file each: its flags, their validation, and what it does.

#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/settings.h"

namespace CLI {
class App;
}

namespace specgen {

struct CommandContext {
  std::optional<std::filesystem::path> config = {};  // --config
  // Read by the commands that use them only: a broken file does not keep others from working.
  Result<Settings> settings() const { return load_settings(config); }
};

// CLI11 fills its members in while parsing.
class CliCommand {
 public:
  virtual ~CliCommand() = default;
  // After parsing, before anything is read, written or started: the first invalid option is the error.
  virtual Result<void> validate() { return {}; }
  virtual Result<ExitCode> run(const CommandContext& context) = 0;
};

struct AddedCommand {
  CLI::App* app = nullptr;  // its part of the command line; app->parsed() if it was chosen
  std::unique_ptr<CliCommand> command;
};

// Each adds one command to the program's command line.
AddedCommand add_author_command(CLI::App& program);
AddedCommand add_compare_command(CLI::App& program);
AddedCommand add_doctor_command(CLI::App& program);
AddedCommand add_eval_command(CLI::App& program);
AddedCommand add_export_command(CLI::App& program);
AddedCommand add_kv_command(CLI::App& program);
AddedCommand add_new_task_command(CLI::App& program);
AddedCommand add_optimize_command(CLI::App& program);
AddedCommand add_probe_command(CLI::App& program);
AddedCommand add_record_command(CLI::App& program);
AddedCommand add_replay_command(CLI::App& program);
AddedCommand add_report_command(CLI::App& program);
AddedCommand add_runs_command(CLI::App& program);
AddedCommand add_simulate_command(CLI::App& program);
AddedCommand add_tasks_command(CLI::App& program);
AddedCommand add_triggers_command(CLI::App& program);
AddedCommand add_verify_command(CLI::App& program);

}  // namespace specgen
