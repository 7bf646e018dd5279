#include "cli/compare_real.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/tasks.h"
#include "cli/terminal.h"
#include "cli/workbench.h"
#include "compare/real_comparison.h"
#include "generate/author/author_options.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kUsualTasks = "softmax,matmul_square,hinge_loss";
constexpr std::string_view kUsualPace = "600,tokens=12000";
constexpr std::string_view kUsualDevices = "auto";
constexpr std::string_view kUsualFolder = "specgen-comparison";
constexpr std::int64_t kUsualIterations = 6;

std::string or_usual(const std::string& given, std::string_view usual) {
  return given.empty() ? std::string(usual) : given;
}

// A folder as it was named, or a task that ships.
Result<std::string> task_named(std::string_view name) {
  if (fs::exists(fs::path(name))) return std::string(name);
  fs::path shipped = shipped_folder("tasks") / name;
  if (fs::exists(shipped)) return shipped.string();
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(shipped_folder("tasks"), ignored)) {
    names.push_back(entry.path().filename().string());
  }
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no task '{}'{}", name, did_you_mean(name, names)),
              "`specgen tasks` lists those that ship");
}

}  // namespace

Result<std::vector<ComparedSetting>> runs_for_real(const CompareSystems& command,
                                                   const std::vector<System>& chosen,
                                                   std::string made_by) {
  if (!command.scenarios.empty()) {
    return fail(ErrorCode::bad_usage, "--scenario: real devices need none",
                "add --virtual, or leave it out");
  }
  RealPlan plan{.program = "/proc/self/exe",
                .tasks = {},
                .systems = chosen,
                .seeds = command.seeds,
                .iterations = command.iterations > 0 ? command.iterations : kUsualIterations,
                .pace = or_usual(command.pace, kUsualPace),
                .slacks = {},
                .devices = or_usual(command.devices, kUsualDevices),
                .over_http = command.over_http,
                .folder = or_usual(command.out, kUsualFolder),
                .made_by = std::move(made_by)};
  double slack = TRY(author_at_pace(plan.pace)).slack;
  if (command.sweep) plan.slacks = {slack, slack / 2, 0};
  std::string tasks = or_usual(command.tasks, kUsualTasks);
  for (std::string_view name : split(tasks, ',')) plan.tasks.push_back(TRY(task_named(trim(name))));
  if (std::ranges::all_of(chosen, &System::speculates)) {
    print_error(
        "all of these systems speculate: whether the pace leaves generation most of an iteration "
        "is not checked");
  }
  plan.on_progress = [](std::size_t done, std::size_t all, const std::string& what) {
    print_error(fmt::format("{} of {} runs done; {}", done, all, what));
  };
  return perform_at_workbench<std::vector<ComparedSetting>>([&](Workbench& bench) {
    return compare_for_real(
        {.loop = bench.loop, .driver = bench.driver, .processes = bench.processes}, plan);
  });
}

}  // namespace specgen
