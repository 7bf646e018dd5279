#pragma once
// Commands that look at runs: `specgen report`, `specgen runs`, `specgen verify`, `specgen export`. All but verify
// only read; --clean of runs removes what has ended without a result, and says so.

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/settings.h"

namespace specgen {

Result<ExitCode> report_run(const ReportRun& command);
Result<ExitCode> list_runs(const ListRuns& command, const Settings& settings);
Result<ExitCode> verify_run(const VerifyRun& command, const Settings& settings);
Result<ExitCode> export_run(const ExportRun& command, const Settings& settings);

}  // namespace specgen
