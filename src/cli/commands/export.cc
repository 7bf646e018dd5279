#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/file.h"
#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/run_folder.h"
#include "cli/run_tasks.h"
#include "cli/terminal.h"
#include "evaluate/pytorch/python_task.h"
#include "report/export/exporter.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// A folder with files in it is not written into: they may be the user's work.
Result<void> make_empty_folder(const fs::path& folder) {
  std::error_code trouble;
  if (fs::exists(folder, trouble) && !fs::is_empty(folder, trouble)) {
    return fail(ErrorCode::bad_usage, fmt::format("{} is not empty", folder.string()),
                "name another folder with --out, or remove that one");
  }
  fs::create_directories(folder, trouble);
  if (trouble) return fail_errno(folder.string(), trouble.value());
  return {};
}

// Only Python knows shapes and parameters: the file is run once more, in the sandbox, with the constants of --shape.
Result<std::vector<ExportedFile>> native_module_of(const RunData& run, const Winner& winner,
                                                   const RunTask& task, ExportForm form,
                                                   std::string origin, const Settings& settings) {
  if (form != ExportForm::torch) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is a PyTorch file", task.where),
                "use --as torch: the kernel with a C function, and a ModelNew that calls it");
  }
  std::string problem = TRY(read_file(task.where));
  std::map<std::string, std::int64_t> shapes = shapes_in(parse_json(run.manifest).value_or(Json()));
  for (const auto& [name, value] : shapes) {
    problem += fmt::format("{} = {}  # as it was judged\n", name, value);
  }
  std::string text = TRY(run_on_loop<std::string>([&](CommandLoop& command) {
    return describe_python_task(command, task.where, shapes, settings);
  }));
  Description description = TRY(parse_description(text));
  return export_native_module(
      {.kernel = {.task = kernel_task_of(description, task.where),
                  .backend = task.backend == "cuda" ? Backend::cuda : Backend::cpu,
                  .source = winner.source,
                  .tunables = winner.tunables,
                  .speedup = winner.speedup,
                  .origin = std::move(origin)},
       .description = description,
       .problem = std::move(problem)});
}

Result<std::vector<ExportedFile>> files_of(const RunData& run, const Winner& winner,
                                           const RunTask& task, ExportForm form,
                                           const Settings& settings) {
  std::string origin = fmt::format("candidate {} of the run {}, judged on {}", to_string(winner.id),
                                   run.folder.filename().string(), winner.device);
  if (winner.is_python()) {
    if (form != ExportForm::torch) {
      return fail(ErrorCode::bad_usage,
                  "the winner is a PyTorch module (ModelNew), which has host code of its own",
                  "use --as torch");
    }
    std::string problem = TRY(read_file(task.where));
    return export_python_module(winner.source, problem, origin);
  }
  if (task.where.ends_with(".py")) {
    return native_module_of(run, winner, task, form, std::move(origin), settings);
  }
  ExportedKernel kernel{.task = TRY(load_task(task.where)),
                        .backend = task.backend == "cuda" ? Backend::cuda : Backend::cpu,
                        .source = winner.source,
                        .tunables = winner.tunables,
                        .speedup = winner.speedup,
                        .origin = std::move(origin)};
  return export_kernel(kernel, form);
}

class ExportCommand : public CliCommand {
 public:
  explicit ExportCommand(CLI::App& app) {
    app.add_option("RUN", run_, "the run's folder")->required();
    app.add_option("--as", as_, "torch, cuda or cpp")->type_name("FORM")->required();
    app.add_option("--task", task_, "which task's winner, if the run has several")
        ->type_name("NAME");
    app.add_option("--out", out_, "a folder to create (default: TASK-FORM)")->type_name("DIR");
  }

  Result<ExitCode> run(const CommandContext& context) override {
    Settings settings = TRY(context.settings());
    ExportForm form = TRY(parse_export_form(as_));
    RunData run = TRY(read_run(run_));
    Winner winner = TRY(winner_of(run, task_));
    const RunTask& task = run.state.run.tasks[winner.task];
    std::vector<ExportedFile> files = TRY(files_of(run, winner, task, form, settings));
    std::string name = task.name;
    std::ranges::replace(name, ':', '_');
    fs::path folder = out_.empty() ? fs::path(fmt::format("{}-{}", name, as_)) : fs::path(out_);
    TRY(make_empty_folder(folder));
    std::string text = fmt::format("{} ({:.3g}x) as {}, in {}:\n", task.name, winner.speedup.median,
                                   to_string(form), folder.string());
    for (const ExportedFile& file : files) {
      TRY(write_file_durably(folder / file.name, file.text));
      text += fmt::format("  {}\n", file.name);
    }
    TRY(print_output(text + "README.md there says how to build, test and time it\n"));
    return ExitCode::done;
  }

 private:
  std::string run_;
  std::string as_;
  std::string task_;
  std::string out_;
};

}  // namespace

AddedCommand add_export_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "export",
      "write the winner of a run as a drop-in: launcher, test, benchmark\n\n"
      "cpp: a C function on threads; cuda: the same on a stream; torch: a PyTorch extension. The "
      "folder\n"
      "needs nothing of specgen.");
  return {app, std::make_unique<ExportCommand>(*app)};
}

}  // namespace specgen
