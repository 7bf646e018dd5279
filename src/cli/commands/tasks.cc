#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Duration kCheckLimit = std::chrono::minutes(5);

// One variant of a task, and the result of its check.
struct Row {
  std::string title;
  std::string where;  // as load_task() takes it
  std::string folder;
  int level = 0;
  std::string backends = {};
  std::string summary = {};
  std::string problem = {};  // why it is not loaded or not admitted
  bool checked = false;
  std::int64_t checks = 0;
  bool ok() const { return problem.empty(); }
};

std::string backends_of(const KernelTask& task) {
  std::vector<std::string> names;
  for (Backend backend : {Backend::cpu, Backend::cuda}) {
    if (task.has(backend)) names.emplace_back(to_string(backend));
  }
  return join(names, ", ");
}

// A folder is one row, and each further dtype of it another.
Result<std::vector<Row>> rows_of(const fs::path& folder) {
  std::vector<Row> rows;
  for (ListedTask& listed : TRY(list_tasks(folder))) {
    if (!listed.task) {
      rows.push_back({.title = listed.folder.filename().string(),
                      .where = listed.folder.string(),
                      .folder = listed.folder.string(),
                      .problem = listed.task.error().context});
      continue;
    }
    for (Dtype element : listed.task->elements) {
      std::string where = listed.folder.string();
      if (element != listed.task->elements.front()) where += fmt::format(":{}", to_string(element));
      auto task = load_task(where);
      Row row{.title = listed.task->name,
              .where = where,
              .folder = listed.folder.string(),
              .level = listed.task->level,
              .backends = backends_of(*listed.task),
              .summary = listed.task->summary,
              .problem = {}};
      if (task) row.title = task->title();
      if (!task) row.problem = task.error().context;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// A judge that died on one task is replaced for the next.
Task<Result<bool>> check_rows(CommandLoop& command, std::vector<Row>& rows, JudgeSetup setup,
                              ProgressLine& line) {
  std::unique_ptr<JudgeProcess> judge;
  for (Row& row : rows) {
    if (!row.ok()) continue;
    if (!judge || !judge->alive()) {
      judge = CO_TRY(JudgeProcess::start(command.loop, command.driver, command.processes,
                                         {"/proc/self/exe"}, setup));
    }
    line.show(fmt::format("checking {}", row.title));
    auto answer = co_await judge->ask("admit", {{"task", row.where}}, kCheckLimit);
    row.checked = true;
    if (!answer) {
      bool is_task_fault = answer.error().code == ErrorCode::bad_task ||
                           answer.error().code == ErrorCode::bad_expression ||
                           answer.error().code == ErrorCode::harness_failed;
      if (!is_task_fault) co_return std::unexpected(answer.error());
      row.problem = answer.error().context;
      continue;
    }
    row.checks = int_at(*answer, "checks");
    if (flag_at(*answer, "admitted")) continue;
    const Json& fault = member_at(*answer, "faults")->as_array().at(0);
    row.problem = fmt::format("{} {} [{}]", text_at(fault, "variant"), text_at(fault, "text"),
                              text_at(fault, "case"));
  }
  co_return true;
}

std::size_t folders_that(const std::vector<Row>& rows, bool are_ok) {
  std::vector<std::string> good, bad;
  for (const Row& row : rows) (row.ok() ? good : bad).push_back(row.folder);
  auto distinct = [](std::vector<std::string>& names) {
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
  };
  distinct(good);
  distinct(bad);
  std::erase_if(good,
                [&](const std::string& name) { return std::ranges::binary_search(bad, name); });
  return are_ok ? good.size() : bad.size();
}

// One line each; the complete summary is in task.toml.
std::string shortened(std::string_view summary) {
  constexpr std::size_t kMax = 72;
  if (summary.size() <= kMax) return std::string(summary);
  return std::string(summary.substr(0, summary.rfind(' ', kMax - 2))) + " …";
}

std::string text_of(const std::vector<Row>& rows, bool checked) {
  std::size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.title.size());
  std::string text;
  for (const Row& row : rows) {
    if (!row.ok()) {
      text += fmt::format("  ✗ {:<{}}  {}\n", row.title, width, row.problem);
    } else {
      text += fmt::format("  {} {:<{}}  level {}  {:<9}  {}\n", checked ? "✓" : " ", row.title,
                          width, row.level, row.backends, shortened(row.summary));
    }
  }
  std::size_t bad = folders_that(rows, false);
  if (checked) {
    text += fmt::format("\n{} tasks admitted, {} refused\n", folders_that(rows, true), bad);
  } else {
    std::size_t all = folders_that(rows, true) + bad;
    text += fmt::format("\n{} task{}\n", all, all == 1 ? "" : "s");
  }
  return text;
}

Json json_of(const std::vector<Row>& rows, const fs::path& folder) {
  boost::json::array tasks;
  for (const Row& row : rows) {
    boost::json::object task{{"name", row.title}, {"folder", row.folder}, {"level", row.level}};
    task["backends"] = row.backends;
    task["summary"] = row.summary;
    task["admitted"] = row.checked && row.ok() ? Json(true)
                       : row.ok()              ? Json(nullptr)
                                               : Json(false);
    task["checks"] = row.checks;
    task["problem"] = row.ok() ? Json(nullptr) : Json(row.problem);
    tasks.push_back(std::move(task));
  }
  return {{"schema", "specgen.tasks"},
          {"schema_version", 1},
          {"folder", folder.string()},
          {"tasks", std::move(tasks)}};
}

// The tasks in a folder, in a task's own folder, or of one that ships and is named.
Result<fs::path> folder_of_tasks(const std::string& named) {
  std::error_code ignored;
  if (named.empty()) {
    fs::path shipped = shipped_folder("tasks");
    if (!shipped.empty()) return shipped;
    return fail(ErrorCode::file_not_found, "tasks", "name the folder: specgen tasks DIR");
  }
  if (fs::is_directory(named, ignored)) return fs::path(named);
  fs::path task = TRY(find_task(named));
  if (fs::is_directory(task, ignored)) return task;
  return fail(ErrorCode::file_not_found, fmt::format("{} is not a folder", task.string()));
}

class TasksCommand : public CliCommand {
 public:
  explicit TasksCommand(CLI::App& app) {
    app.add_option("DIR", folder_, "a folder of tasks, one task, or the name of one that ships");
    add_flag(app, "--check", check_,
             "run each task's baseline, and show that its checker refuses cheats");
    add_flag(app, "--json", json_, "print one JSON document (schema specgen.tasks)");
    app.add_option("--device", device_, "where to run baselines (default cpu:0)")->type_name("D");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    fs::path folder = TRY(folder_of_tasks(folder_));
    std::vector<Row> rows = TRY(rows_of(folder));
    if (rows.empty()) {
      return fail(ErrorCode::bad_task, fmt::format("{} has no task in it", folder.string()),
                  "a task is a folder with a task.toml; `specgen new NAME` writes one");
    }
    if (check_) {
      JudgeSetup setup{.device = device_};
      if (!settings.compiler.empty()) setup.compiler = settings.compiler;
      ProgressLine line;
      TRY(run_on_loop<bool>(
          [&](CommandLoop& command) { return check_rows(command, rows, std::move(setup), line); }));
    }
    TRY(print_output(json_ ? pretty_json(json_of(rows, folder)) : text_of(rows, check_)));
    return std::ranges::all_of(rows, &Row::ok) ? ExitCode::done : ExitCode::usage;
  }

 private:
  std::string folder_;
  bool check_ = false;
  bool json_ = false;
  std::string device_ = "cpu:0";
};

}  // namespace

AddedCommand add_tasks_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "tasks",
      "list tasks, or check that they distinguish right kernels from wrong ones\n\n"
      "Without DIR: the tasks that ship. Exit code 2 if one is malformed or not admitted.");
  return {app, std::make_unique<TasksCommand>(*app)};
}

}  // namespace specgen
