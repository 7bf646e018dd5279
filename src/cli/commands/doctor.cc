#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/diagnosis.h"
#include "cli/model_check.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

constexpr Duration kHostCheckLimit = std::chrono::seconds(20);
constexpr Duration kModelCallLimit = std::chrono::seconds(60);

class DoctorCommand : public CliCommand {
 public:
  explicit DoctorCommand(CLI::App& app) {
    add_flag(app, "--json", json_,
             "print one JSON document (schema specgen.doctor or specgen.model-check)");
    add_duration(app, "--time-limit", time_limit_,
                 "for each check (default 20s; for each call of a model 60s)");
    app.add_option("--model", model_,
                   "check a model instead: openai:NAME@URL, or a name of specgen.toml (costs a few "
                   "thousand tokens)")
        ->type_name("SPEC");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    return model_ ? check_model(settings) : check_host(settings);
  }

 private:
  Result<ExitCode> check_host(const Settings& settings) const {
    HostProbe probe = host_probe(settings);
    probe.time_limit = time_limit_.value_or(kHostCheckLimit);
    Diagnosis diagnosis;
    diagnosis.host = TRY(inspect_host(std::move(probe)));
    diagnosis.checks = checks_of(diagnosis.host, settings.min_free);
    diagnosis.settings = settings.source.string();
    TRY(print_output(json_ ? doctor_json(diagnosis) : doctor_text(diagnosis, output_has_colour())));
    return doctor_exit_code(diagnosis.host);
  }

  Result<ExitCode> check_model(const Settings& settings) const {
    ModelDiagnosis diagnosis =
        TRY(inspect_model(*model_, settings, time_limit_.value_or(kModelCallLimit)));
    TRY(print_output(json_ ? model_check_json(diagnosis)
                           : model_check_text(diagnosis, output_has_colour())));
    return diagnosis.usable() ? ExitCode::done : ExitCode::environment;
  }

  std::optional<std::string> model_;
  std::optional<Duration> time_limit_;
  bool json_ = false;
};

}  // namespace

AddedCommand add_doctor_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "doctor",
      "what this host can do, and how to fix what it lacks\n\n"
      "Exit code 0 if kernels can be evaluated here (CPU or CUDA), 3 if not.\n"
      "With --model: what a model's server can do; exit code 3 if it is not usable.");
  return {app, std::make_unique<DoctorCommand>(*app)};
}

}  // namespace specgen
