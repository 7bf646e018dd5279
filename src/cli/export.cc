// `specgen export RUN --as torch|cuda|cpp`: the winner as a folder of files that needs nothing of ours.

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "cli/load_run.h"
#include "cli/runs.h"
#include "cli/terminal.h"
#include "cli/workbench.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/pytorch/python_task.h"
#include "report/export/exporter.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr Duration kDescribing = std::chrono::minutes(5);

// A folder with something in it is not written into: it may be somebody's work.
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

Task<Result<std::string>> describe(Workbench& bench, Json job, std::string python) {
  JudgeSetup setup{.device = "cpu:0"};
  setup.python = std::move(python);
  auto judge = CO_TRY(JudgeProcess::start(bench.loop, bench.driver, bench.processes,
                                          {"/proc/self/exe"}, std::move(setup)));
  Json told = CO_TRY(co_await judge->ask("describe", std::move(job), kDescribing));
  co_return text_at(told, "description");
}

// Shapes and parameters are known to Python only: the file is run once more, in a box, with what --shape had replaced.
Result<std::vector<ExportedFile>> native_module_of(const RunData& run, const Winner& winner,
                                                   const RunTask& task, ExportForm form,
                                                   std::string origin, const Settings& settings) {
  if (form != ExportForm::torch) {
    return fail(ErrorCode::bad_usage, fmt::format("'{}' is a PyTorch file", task.where),
                "use --as torch: the kernel with a C function, and a ModelNew that calls it");
  }
  std::string problem = TRY(read_file(task.where));
  boost::json::object job{{"task", task.where}};
  Json manifest = parse_json(run.manifest).value_or(Json());
  if (const Json* shapes = member_at(manifest, "shapes"); shapes && shapes->is_object()) {
    job["shapes"] = *shapes;
    for (const auto& [name, value] : shapes->get_object()) {
      problem +=
          fmt::format("{} = {}  # as it was judged\n", std::string_view(name), compact_json(value));
    }
  }
  std::string told = TRY(perform_at_workbench<std::string>(
      [&](Workbench& bench) { return describe(bench, job, settings.python); }));
  Description description = TRY(parse_description(told));
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
                  "the winner is a PyTorch module (ModelNew), which holds host code of its own",
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

}  // namespace

Result<ExitCode> export_run(const ExportRun& command, const Settings& settings) {
  ExportForm form = TRY(parse_export_form(command.as));
  RunData run = TRY(load_run(command.run));
  Winner winner = TRY(winner_of(run, command.task));
  const RunTask& task = run.state.run.tasks[winner.task];
  std::vector<ExportedFile> files = TRY(files_of(run, winner, task, form, settings));
  std::string name = task.name;
  std::ranges::replace(name, ':', '_');
  fs::path folder = command.out.empty() ? fs::path(fmt::format("{}-{}", name, command.as))
                                        : fs::path(command.out);
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

}  // namespace specgen
