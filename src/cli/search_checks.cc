#include "cli/search_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/run_model.h"
#include "cli/shipped_files.h"
#include "evaluate/task/kernel_task.h"
#include "generate/author/kernel_plan.h"
#include "generate/open_model.h"

namespace specgen {
namespace {

Result<void> check_price(const SearchOptions& options, const Settings& settings) {
  if (options.cost_budget.value_or(0) == 0) return {};
  if (is_author(options.model) || options.model.starts_with("cassette:")) {
    return fail(ErrorCode::bad_usage,
                fmt::format("--cost-budget: '{}' costs nothing, so it would never end the run",
                            options.model),
                "leave --cost-budget out");
  }
  NamedModel model = TRY(find_server_model(options.model, settings.models));
  if (model.prices.prompt > 0 || model.prices.completion > 0) return {};
  bool is_named = model.name == options.model && !options.model.starts_with("openai:");
  std::string table =
      is_named ? fmt::format("[models.{}]", model.name)
               : fmt::format("[models.NAME] url = \"{}\", model = \"{}\"", model.url, model.model);
  return fail(
      ErrorCode::bad_usage,
      fmt::format("--cost-budget: the price of '{}' is not known", options.model),
      fmt::format(
          "add to specgen.toml: {}, prices = {{prompt = 0.6, completion = 2.2}} (US dollars "
          "per million tokens){}; or use --token-budget",
          table, is_named ? "" : ", and use --model NAME"));
}

std::string plan_advice(std::string_view backend) {
  return fmt::format(
      "name a language model with --model openai:NAME@URL (docs/guide/model-servers.md), or a task "
      "that the "
      "author knows{}: {}",
      backend.empty() ? "" : fmt::format(" on {}", backend), join(author_tasks(backend), ", "));
}

Result<void> check_task(const SearchOptions& options, const std::string& name) {
  std::string where = TRY(find_task(name));
  bool is_python = where.ends_with(".py");
  if (!is_author(options.model) || !options.start.empty()) return {};
  std::string title =
      is_python ? std::filesystem::path(where).stem().string() : TRY(load_task(where)).title();
  if (find_plan(title, "cpu") || find_plan(title, "cuda")) return {};
  return fail(ErrorCode::unknown_name, fmt::format("the author does not know the task '{}'", title),
              plan_advice({}));
}

}  // namespace

Result<void> check_search(const SearchOptions& options, const Settings& settings) {
  TRY(check_price(options, settings));
  for (const std::string& task : options.tasks) TRY(check_task(options, task));
  bool has_python = std::ranges::any_of(
      options.tasks, [](const std::string& task) { return task.ends_with(".py"); });
  if (!options.shapes.empty() && !has_python) {
    return fail(ErrorCode::bad_usage, "--shape: none of the tasks is a PyTorch file",
                "leave it out; the shapes of other tasks are in their task.toml");
  }
  return {};
}

Result<void> check_author(const SearchOptions& options, std::span<const RunTask> tasks) {
  if (!is_author(options.model) || !options.start.empty()) return {};
  for (const RunTask& task : tasks) {
    if (find_plan(task.name, task.backend)) continue;
    return fail(
        ErrorCode::unknown_name,
        fmt::format("the author does not know the task '{}' on {}", task.name, task.backend),
        plan_advice(task.backend));
  }
  return {};
}

}  // namespace specgen
