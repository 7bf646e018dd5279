// `specgen report RUN`: the summary on standard output, the page into RUN/report.html or where --html says.

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "cli/load_run.h"
#include "cli/runs.h"
#include "cli/terminal.h"
#include "report/html_report.h"
#include "report/summary.h"

namespace specgen {
namespace fs = std::filesystem;

Result<RunData> load_run(const std::string& folder, RunDepth depth) {
  return read_run(folder, depth);
}

Result<ExitCode> report_run(const ReportRun& command) {
  RunData run = TRY(load_run(command.run));
  SpeculationLedger ledger = speculation_ledger(run.state);
  fs::path page = command.html.empty() ? run.folder / "report.html" : fs::path(command.html);
  TRY(write_file_durably(page, html_report(run)));
  for (const std::string& problem : run.problems) print_error("warning: " + problem);
  if (command.json) {
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

}  // namespace specgen
