#include "cli/run_tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "cli/shipped_files.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr Duration kDescribeLimit = std::chrono::minutes(5);

// "cuda:0" is of the backend cuda. The first device of a backend represents all of them.
const PoolDevice* device_for(std::span<const PoolDevice> devices, std::string_view backend) {
  auto found = std::ranges::find_if(devices, [&](const PoolDevice& device) {
    return !device.is_compile_slot && device.name.starts_with(std::string(backend) + ":");
  });
  return found == devices.end() ? nullptr : &*found;
}

// Absolute, so that a node that runs elsewhere finds it; FOLDER:DTYPE keeps its variant.
std::string absolute(const std::string& where) {
  std::error_code trouble;
  fs::path path = fs::absolute(where, trouble);
  return trouble ? where : path.lexically_normal().string();
}

Result<void> add_python(const std::string& where, bool model_new,
                        std::span<const PoolDevice> devices, PreparedTasks& prepared) {
  const PoolDevice* device = device_for(devices, "cuda");
  if (!device) device = device_for(devices, "cpu");
  std::string backend = device->name.substr(0, device->name.find(':'));
  std::string name = fs::path(where).stem().string();
  prepared.tasks.push_back({.name = name, .where = absolute(where), .backend = backend});
  prepared.briefs.push_back(
      brief_of_python(name, TRY(read_file(where)), backend, device->model, model_new));
  return {};
}

Result<void> add_native(const std::string& where, std::span<const PoolDevice> devices,
                        PreparedTasks& prepared) {
  KernelTask task = TRY(load_task(where));
  for (Backend backend : {Backend::cuda, Backend::cpu}) {
    const PoolDevice* device = device_for(devices, to_string(backend));
    if (!device || !task.has(backend)) continue;
    prepared.tasks.push_back({.name = task.title(),
                              .where = absolute(where),
                              .backend = std::string(to_string(backend))});
    prepared.briefs.push_back(brief_of(task, backend, device->model));
    return {};
  }
  return fail(ErrorCode::bad_task, fmt::format("{} has no baseline for any of the devices", where),
              "choose other devices with --devices, or add baseline.cc or baseline.cu");
}

}  // namespace

Task<Result<std::string>> describe_python_task(CommandLoop& command, std::string file,
                                               std::map<std::string, std::int64_t> shapes,
                                               const Settings& settings) {
  JudgeSetup setup{.device = "cpu:0"};
  setup.python = settings.python;
  if (!settings.compiler.empty()) setup.compiler = settings.compiler;
  auto judge = CO_TRY(JudgeProcess::start(command.loop, command.driver, command.processes,
                                          {"/proc/self/exe"}, std::move(setup)));
  boost::json::object values;
  for (const auto& [name, value] : shapes) values[name] = value;
  Json answer = CO_TRY(co_await judge->ask(
      "describe", {{"task", std::move(file)}, {"shapes", std::move(values)}}, kDescribeLimit));
  co_return text_at(answer, "description");
}

Result<PreparedTasks> prepare_tasks(const std::vector<std::string>& names, bool model_new,
                                    std::span<const PoolDevice> devices) {
  PreparedTasks prepared;
  for (const std::string& name : names) {
    std::string where = TRY(find_task(name));
    TRY(where.ends_with(".py") ? add_python(where, model_new, devices, prepared)
                               : add_native(where, devices, prepared));
    const std::string& title = prepared.tasks.back().name;
    if (std::ranges::count(prepared.tasks, title, &RunTask::name) > 1) {
      return fail(ErrorCode::bad_usage, fmt::format("two tasks are called '{}'", title),
                  "optimise them in separate runs");
    }
  }
  return prepared;
}

}  // namespace specgen
