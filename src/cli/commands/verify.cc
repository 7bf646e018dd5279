// The winner of a run judged again from scratch, by the judge of `specgen eval` with a fresh secret: other hidden
// cases, other data.

#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "cli/commands/eval.h"
#include "cli/options.h"
#include "cli/run_folder.h"
#include "cli/terminal.h"

namespace specgen {
namespace {

// Intervals describe the noise within one evaluation; clocks and neighbours differ between two.
constexpr double kBetweenEvaluations = 0.05;

std::string interval_text(const Speedup& speedup) {
  return fmt::format("{:.3g}x ({:.3g} to {:.3g})", speedup.median, speedup.low, speedup.high);
}

// The winner again, as it was judged.
EvaluationRequest request_for(const RunData& run, const Winner& winner, const std::string& device) {
  const RunTask& task = run.state.run.tasks[winner.task];
  EvaluationRequest request;
  request.task = task.where;
  request.candidate = to_string(winner.id);
  request.device = !device.empty()          ? device
                   : !winner.device.empty() ? winner.device
                                            : task.backend + ":0";
  for (const auto& [name, value] : winner.tunables) request.tunables[name] = value;
  request.shapes = shapes_in(parse_json(run.manifest).value_or(Json()));
  request.model_new = winner.is_python();
  return request;
}

class VerifyCommand : public CliCommand {
 public:
  explicit VerifyCommand(CLI::App& app) {
    app.add_option("RUN", run_, "the run's folder")->required();
    app.add_option("--task", task_, "which task's winner, if the run has several")
        ->type_name("NAME");
    app.add_option("--device", device_, "where to judge it (default: where it was)")
        ->type_name("D");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.verification)");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    RunData run = TRY(read_run(run_));
    Winner winner = TRY(winner_of(run, task_));
    EvaluationRequest request = request_for(run, winner, device_);
    Json evaluation = TRY(judge_source(request, winner.source, settings));

    std::string verdict = text_at(evaluation, "verdict");
    bool ok = verdict == "ok";
    Speedup now;
    if (const Json* speedup = member_at(evaluation, "speedup"); speedup && speedup->is_object()) {
      now = {number_at(*speedup, "median"), number_at(*speedup, "low"),
             number_at(*speedup, "high")};
    }
    bool confirmed = ok && now.high >= winner.speedup.low * (1 - kBetweenEvaluations);
    if (json_) {
      TRY(print_output(pretty_json({{"schema", "specgen.verification"},
                                    {"schema_version", 1},
                                    {"run", run.folder.string()},
                                    {"task", run.state.run.tasks[winner.task].name},
                                    {"candidate", to_string(winner.id)},
                                    {"device", request.device},
                                    {"recorded", to_json(winner.speedup)},
                                    {"verdict", verdict},
                                    {"again", ok ? to_json(now) : Json(nullptr)},
                                    {"confirmed", confirmed}})));
    } else {
      TRY(print_output(evaluation_text(evaluation, output_has_colour()) +
                       fmt::format("\nrecorded {}, now {}: {}\n", interval_text(winner.speedup),
                                   ok ? interval_text(now) : verdict,
                                   confirmed ? "confirmed"
                                   : ok      ? "slower than recorded, beyond noise"
                                             : "not confirmed")));
    }
    return confirmed ? ExitCode::done : ExitCode::failed;
  }

 private:
  std::string run_;
  std::string task_;    // empty: the only one
  std::string device_;  // empty: where the winner was judged
  bool json_ = false;
};

}  // namespace

AddedCommand add_verify_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("verify",
                                         "judge the winner of a run again, from scratch\n\n"
                                         "With fresh hidden cases and data. Exit code 0 only if it "
                                         "is ok and not slower than recorded,\n"
                                         "beyond noise.");
  return {app, std::make_unique<VerifyCommand>(*app)};
}

}  // namespace specgen
