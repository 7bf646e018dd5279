#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>

#include "cli/options.h"
#include "cli/run_folder.h"
#include "cli/terminal.h"
#include "report/summary.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

struct Row {
  fs::path folder;
  std::string state;  // "ended", "interrupted", "running", "damaged"
  std::string detail = {};
  std::vector<std::string> bests = {};
  std::int64_t iterations = 0;
  bool has_result = false;
  bool removed = false;
  // Only a run that has no kernel to use and cannot be resumed.
  bool may_be_removed() const { return state == "ended" && !has_result; }
};

Row row_of(const fs::path& folder) {
  auto run = read_run(folder.string(), RunDepth::entries);
  if (!run) return {.folder = folder, .state = "damaged", .detail = run.error().summary()};
  RunStatus status = run->status();
  Row row{.folder = folder, .state = std::string(to_string(status))};
  if (status == RunStatus::ended) row.detail = run->state.ended;
  if (status == RunStatus::interrupted) {
    row.detail = fmt::format("resumable: specgen optimize --resume {}", folder.string());
  }
  for (std::size_t i = 0; i < run->state.tasks.size(); ++i) {
    const TaskState& task = run->state.tasks[i];
    row.iterations += numbers_of(run->state, static_cast<std::uint32_t>(i)).iterations;
    row.has_result = row.has_result || !task.confirmed.empty();
    row.bests.push_back(
        fmt::format("{} {}", run->state.run.tasks[i].name,
                    task.best_speedup > 0 ? fmt::format("{:.3g}x", task.best_speedup) : "none"));
  }
  return row;
}

Result<std::vector<Row>> rows_below(const fs::path& folder) {
  std::vector<fs::path> runs;
  std::error_code trouble;
  for (const auto& each : fs::directory_iterator(folder, trouble)) {
    std::error_code ignored;
    if (fs::is_regular_file(each.path() / "journal.db", ignored)) runs.push_back(each.path());
  }
  if (trouble && trouble != std::errc::no_such_file_or_directory) {
    return fail_errno(folder.string(), trouble.value());
  }
  std::ranges::sort(runs);
  std::vector<Row> rows;
  for (const fs::path& run : runs) rows.push_back(row_of(run));
  return rows;
}

Result<void> remove(Row& row) {
  std::error_code trouble;
  fs::remove_all(row.folder, trouble);
  if (trouble) return fail_errno(row.folder.string(), trouble.value());
  row.removed = true;
  return {};
}

std::string text_of(const std::vector<Row>& rows, const fs::path& folder) {
  if (rows.empty()) {
    return fmt::format("no runs below {}; `specgen optimize TASK` makes one\n", folder.string());
  }
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.folder.string().size());
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("  {:<{}}  {:<11}  {:>3} iterations  {}", row.folder.string(), width,
                        row.removed ? "removed" : row.state, row.iterations,
                        fmt::join(row.bests, ", "));
    if (!row.detail.empty()) text += fmt::format("  ({})", row.detail);
    text += '\n';
  }
  return text;
}

Json json_of(const std::vector<Row>& rows, const fs::path& folder) {
  boost::json::array runs;
  for (const Row& row : rows) {
    runs.push_back({{"folder", row.folder.string()},
                    {"state", row.state},
                    {"detail", row.detail},
                    {"iterations", row.iterations},
                    {"has_result", row.has_result},
                    {"removed", row.removed}});
  }
  return {{"schema", "specgen.runs"},
          {"schema_version", 1},
          {"folder", folder.string()},
          {"runs", std::move(runs)}};
}

class RunsCommand : public CliCommand {
 public:
  explicit RunsCommand(CLI::App& app) {
    app.add_option("DIR", folder_, "the folder with the runs");
    add_flag(app, "--clean", clean_,
             "remove runs that ended without any result; no others, and never a running one");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.runs)");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    fs::path folder = folder_.empty() ? settings.runs_folder : fs::path(folder_);
    std::vector<Row> rows = TRY(rows_below(folder));
    for (Row& row : rows) {
      if (clean_ && row.may_be_removed()) TRY(remove(row));
    }
    TRY(print_output(json_ ? pretty_json(json_of(rows, folder)) : text_of(rows, folder)));
    return ExitCode::done;
  }

 private:
  std::string folder_;
  bool clean_ = false;
  bool json_ = false;
};

}  // namespace

AddedCommand add_runs_command(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("runs",
                             "list runs: ended, interrupted (resumable) or running\n\n"
                             "Without DIR: the folder of specgen.toml, else specgen-runs.");
  return {app, std::make_unique<RunsCommand>(*app)};
}

}  // namespace specgen
