#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/file.h"
#include "cli/options.h"
#include "cli/run_folder.h"
#include "cli/terminal.h"
#include "report/html_report.h"
#include "report/summary.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

class ReportCommand : public CliCommand {
 public:
  explicit ReportCommand(CLI::App& app) {
    app.add_option("RUN", run_, "the run's folder")->required();
    app.add_option("--html", html_, "where to write the page (default RUN/report.html)")
        ->type_name("FILE");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.report)");
  }

  Result<ExitCode> run(const CommandContext&) override {
    RunData run = TRY(read_run(run_));
    SpeculationLedger ledger = speculation_ledger(run.state);
    fs::path page = html_.empty() ? run.folder / "report.html" : fs::path(html_);
    TRY(write_file_durably(page, html_report(run)));
    for (const std::string& problem : run.problems) print_error("warning: " + problem);
    if (json_) {
      Json document{{"schema", "specgen.report"}, {"schema_version", 1}};
      add_summary(document, run, ledger);
      document.as_object()["ledger"] = to_json(ledger);
      document.as_object()["html"] = page.string();
      TRY(print_output(pretty_json(document)));
    } else {
      TRY(print_output(summary_text(run, ledger, output_has_colour()) +
                       fmt::format("report: {}\n", page.string())));
    }
    return ExitCode::done;
  }

 private:
  std::string run_;
  std::string html_;
  bool json_ = false;
};

}  // namespace

AddedCommand add_report_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("report",
                             "show a run: summary on standard output, everything in report.html\n\n"
                             "The page needs no network. A run that is still running is shown up "
                             "to its last durable entry.");
  return {app, std::make_unique<ReportCommand>(*app)};
}

}  // namespace specgen
