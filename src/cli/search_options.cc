#include "cli/search_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace specgen {

void SearchOptions::add_shared_to(CLI::App& app, const char* rounds, const char* rounds_help) {
  app.add_option(
      "TASK", tasks,
      "what to make faster: a task that ships, a task folder, FOLDER:DTYPE, or a .py file");
  app.add_option("--model", model,
                 "author (default), author:PACE, openai:NAME@URL, cassette:FILE, or a name of "
                 "specgen.toml")
      ->type_name("SPEC");
  at_least(app.add_option(rounds, iterations, rounds_help)->type_name("N"), 0);
  add_duration(app, "--time-budget", time_budget, "for the whole run, such as 30m");
  above_zero(app.add_option("--token-budget", token_budget, "for the whole run, prompts included")
                 ->type_name("N"));
  above_zero(app.add_option("--cost-budget", cost_budget,
                            "for the whole run, by the prices in specgen.toml")
                 ->type_name("USD"));
  at_least(app.add_option("--max-tokens", max_tokens,
                          "of one generation, reasoning included (default 32768)")
               ->type_name("N"),
           256);
  app.add_option("--devices", devices, "auto (default), or a list such as cpu:0,cuda:1")
      ->type_name("LIST");
  add_assignments(app, "--shape", shapes, "replace a constant of a PyTorch task's file");
  add_flag(app, "--model-new", model_new,
           "PyTorch tasks: candidates are Python modules (ModelNew)");
  app.add_option("--out", out, "the run's folder (default: a new one in specgen-runs)")
      ->type_name("DIR");
  app.add_option("--resume", resume, "continue the run in this folder")->type_name("DIR");
  not_negative(
      app.add_option("--seed", seed, "of everything that is random (default 0)")->type_name("N"));
  add_flag(app, "--json", json, "print one JSON document");
}

Result<void> SearchOptions::validate(const CLI::App& app, const char* rounds) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) {
      given.insert("--" + option->get_lnames().front());
    }
  }
  if (tasks.empty() && resume.empty()) {
    return fail(ErrorCode::bad_usage, "no task is named",
                "name one, such as softmax; `specgen tasks` lists those that ship");
  }
  if (!tasks.empty() && !resume.empty()) {
    return fail(ErrorCode::bad_usage, "--resume: the run has its tasks already",
                "leave the tasks out, or start a new run without --resume");
  }
  bool has_end = time_budget || token_budget || cost_budget;
  if (iterations == 0 && !has_end && resume.empty()) {
    return fail(ErrorCode::bad_usage,
                fmt::format("{} 0: without any other budget the run would never end", rounds),
                "add --time-budget, --token-budget or --cost-budget");
  }
  return {};
}

}  // namespace specgen
