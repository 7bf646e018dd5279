#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/shipped_files.h"
#include "cli/terminal.h"
#include "evaluate/judge/task_check.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// One variant of a task, and the result of its check.
struct Row {
  std::string title;
  std::string where;  // as load_task() takes it
  std::string folder;
  int level = 0;
  std::string backends = {};
  std::string summary = {};
  std::string problem = {};  // why it is not loaded or not admitted
  std::vector<BaselineCheck> baselines = {};
  bool ok() const { return problem.empty(); }
  bool is_admitted() const {
    return ok() && std::ranges::any_of(baselines, [](const BaselineCheck& check) {
             return check.state == BaselineCheck::State::admitted;
           });
  }
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

Task<Result<bool>> check_rows(std::vector<Row>& rows, TaskChecker checker, ProgressLine& line) {
  for (Row& row : rows) {
    if (!row.ok()) continue;
    line.show(fmt::format("checking {}", row.title));
    row.baselines = CO_TRY(co_await checker.check(CO_TRY(load_task(row.where)), row.where));
    for (const BaselineCheck& check : row.baselines) {
      if (row.ok() && check.state == BaselineCheck::State::refused) row.problem = check.reason;
    }
  }
  co_return true;
}

// Why baselines of one backend were not checked, and how many: "; 9 cuda baselines not checked: no GPU".
std::string not_checked_text(const std::vector<Row>& rows) {
  std::map<std::string, std::size_t> counts;
  for (const Row& row : rows) {
    for (const BaselineCheck& check : row.baselines) {
      if (check.state != BaselineCheck::State::not_checked) continue;
      ++counts[fmt::format("{} baselines {}", to_string(check.backend), to_string(check))];
    }
  }
  std::string text;
  for (const auto& [what, count] : counts) text += fmt::format("; {} {}", count, what);
  return text;
}

std::string backends_text(const Row& row) {
  std::string text = row.backends;
  for (const BaselineCheck& check : row.baselines) {
    if (check.state != BaselineCheck::State::not_checked) continue;
    text += fmt::format(" ({} not checked)", to_string(check.backend));
  }
  return text;
}

// How many folders have only rows for which this holds; a folder has a row for every dtype.
std::size_t folders_with_all(const std::vector<Row>& rows, bool (Row::*holds)() const) {
  std::map<std::string, bool> folders;
  for (const Row& row : rows) {
    bool& all = folders.try_emplace(row.folder, true).first->second;
    all = all && (row.*holds)();
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(folders, [](const auto& folder) { return folder.second; }));
}

std::size_t folders_in(const std::vector<Row>& rows) {
  std::set<std::string> folders;
  for (const Row& row : rows) folders.insert(row.folder);
  return folders.size();
}

// One line each; the complete summary is in task.toml.
std::string shortened(std::string_view summary) {
  constexpr std::size_t kMax = 72;
  if (summary.size() <= kMax) return std::string(summary);
  return std::string(summary.substr(0, summary.rfind(' ', kMax - 2))) + " …";
}

std::string text_of(const std::vector<Row>& rows, bool checked) {
  std::size_t width = 4, backends_width = 9;
  for (const Row& row : rows) {
    width = std::max(width, row.title.size());
    backends_width = std::max(backends_width, backends_text(row).size());
  }
  std::string text;
  for (const Row& row : rows) {
    if (!row.ok()) {
      text += fmt::format("  ✗ {:<{}}  {}\n", row.title, width, row.problem);
    } else {
      text += fmt::format("  {} {:<{}}  level {}  {:<{}}  {}\n", row.is_admitted() ? "✓" : " ",
                          row.title, width, row.level, backends_text(row), backends_width,
                          shortened(row.summary));
    }
  }
  const std::size_t all = folders_in(rows);
  if (!checked) return text + fmt::format("\n{} task{}\n", all, all == 1 ? "" : "s");
  return text + fmt::format("\n{} tasks admitted, {} refused{}\n",
                            folders_with_all(rows, &Row::is_admitted),
                            all - folders_with_all(rows, &Row::ok), not_checked_text(rows));
}

Json json_of(const std::vector<Row>& rows, const fs::path& folder) {
  boost::json::array tasks;
  for (const Row& row : rows) {
    boost::json::object task{{"name", row.title}, {"folder", row.folder}, {"level", row.level}};
    task["backends"] = row.backends;
    task["summary"] = row.summary;
    task["admitted"] = row.is_admitted() ? Json(true) : row.ok() ? Json(nullptr) : Json(false);
    boost::json::object baselines;
    std::int64_t checks = 0;
    for (const BaselineCheck& check : row.baselines) {
      baselines[to_string(check.backend)] = to_string(check);
      checks += check.checks;
    }
    task["baselines"] = std::move(baselines);
    task["checks"] = checks;
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
    app.add_option("--device", device_, "check baselines only on D (default cpu:0 and cuda:0)")
        ->type_name("D");
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
      JudgeSetup setup;
      if (!settings.compiler.empty()) setup.compiler = settings.compiler;
      ProgressLine line;
      TRY(run_on_loop<bool>([&](CommandLoop& command) {
        TaskChecker checker(
            ask_judges(command.loop, command.driver, command.processes, std::move(setup)), device_);
        return check_rows(rows, std::move(checker), line);
      }));
    }
    TRY(print_output(json_ ? pretty_json(json_of(rows, folder)) : text_of(rows, check_)));
    return std::ranges::all_of(rows, &Row::ok) ? ExitCode::done : ExitCode::usage;
  }

 private:
  std::string folder_;
  bool check_ = false;
  bool json_ = false;
  std::string device_;
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
