// A probe is a search whose reasoning streams are studied.

#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/options.h"
#include "cli/run_search.h"

namespace specgen {
namespace {

constexpr const char* kStreams = "--streams";
constexpr std::int64_t kDefaultStreams = 6;

class ProbeCommand : public CliCommand {
 public:
  explicit ProbeCommand(CLI::App& app) : app_(app) {
    options_.add_shared_to(app, kStreams, "of each task (default 6)");
    between(
        app.add_option("--every", percent_, "fork at every so many percent of a stream (default 5)")
            ->type_name("PERCENT"),
        1, 50);
    add_flag(app, "--no-control", no_control_,
             "no second complete generation per stream, to compare with");
  }

  Result<void> validate() override {
    TRY(options_.validate(app_, kStreams));
    options_.study_step = percent_ / 100;
    options_.study_control = !no_control_;
    if (!options_.iterations && options_.resume.empty()) options_.iterations = kDefaultStreams;
    return {};
  }

  Result<ExitCode> run(const CommandContext& context) override {
    return run_search(options_, TRY(context.settings()));
  }

 private:
  CLI::App& app_;  // until validate() is done
  SearchOptions options_;
  double percent_ = 5;
  bool no_control_ = false;
};

}  // namespace

AddedCommand add_probe_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "probe",
      "measure how early a prefix of a model's reasoning is enough for a better kernel\n\n"
      "Reasoning streams run to their end; then a fork is made at every few percent of each, and "
      "all\n"
      "kernels, drafts in the reasoning included, are judged. The result is the share of the "
      "reasoning\n"
      "after which a kernel beats the earlier answers, what stopping there would save, and the "
      "tokens\n"
      "spent. Ctrl-C ends it in good order, and --resume continues. --json has the schema "
      "specgen.probe.");
  return {app, std::make_unique<ProbeCommand>(*app)};
}

}  // namespace specgen
