#include "cli/search_words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace specgen {
namespace {

// A budget that is spent before anything happens is a mistake.
template <class Number>
Result<std::optional<Number>> budget(const std::string& text, std::string_view flag) {
  if (text.empty()) return std::nullopt;
  Number value = TRY(number_of<Number>(text, flag));
  if (!(value > 0)) return must_be(flag, "above 0; leave it out for no limit");
  return value;
}

}  // namespace

void SearchWords::add_to(CLI::App& app, const char* rounds, const char* rounds_help) {
  auto option = [&](const char* name, auto& into, const char* help, const char* type) {
    app.add_option(name, into, help)->type_name(type)->allow_extra_args(false);
  };
  app.add_option("TASK", tasks_, "what to make faster");
  option("--model", model_,
         "author (default), author:PACE, openai:NAME@URL, cassette:FILE, or a name of specgen.toml",
         "SPEC");
  option(rounds, iterations_, rounds_help, "N");
  option("--time-budget", time_, "for all of it, such as 30m", "D");
  option("--token-budget", tokens_, "for all of it, prompts included", "N");
  option("--cost-budget", cost_, "for all of it, by the prices in specgen.toml", "USD");
  option("--max-tokens", max_tokens_, "of one generation, thinking included (default 32768)", "N");
  option("--devices", devices_, "auto (default), or a list such as cpu:0,cuda:1", "LIST");
  option("--shape", shapes_, "a constant of a PyTorch task's file, replaced", "NAME=N");
  app.add_flag("--model-new", model_new_, "PyTorch tasks: candidates are Python modules (ModelNew)")
      ->disable_flag_override();
  option("--out", out_, "the run's folder (default: a new one in specgen-runs)", "DIR");
  option("--resume", resume_, "go on with the run in this folder", "DIR");
  option("--seed", seed_, "for whatever is drawn by chance (default 0)", "N");
  app.add_flag("--json", json_, "print one JSON document")->disable_flag_override();
}

Result<Optimize> SearchWords::look(Optimize command, const char* rounds) const {
  command.tasks = tasks_;
  command.model = model_;
  command.devices = devices_;
  command.out = out_;
  command.resume = resume_;
  command.model_new = model_new_;
  command.json = json_;
  if (command.tasks.empty() && command.resume.empty()) {
    return fail(ErrorCode::bad_usage, "what is to be made faster?",
                "name a task, such as tasks/softmax; `specgen tasks` lists those that ship");
  }
  if (!command.tasks.empty() && !command.resume.empty()) {
    return fail(ErrorCode::bad_usage, "--resume: a run has its tasks already",
                "leave the tasks out");
  }
  if (!iterations_.empty()) {
    command.iterations = TRY(number_of<std::int64_t>(iterations_, rounds));
    if (*command.iterations < 0) return must_be(rounds, "0 or more");
  }
  if (!time_.empty()) {
    auto limit = parse_duration(time_);
    if (!limit || *limit <= Duration()) {
      return must_be("--time-budget", "a length of time, such as 90s or 2h");
    }
    command.time_budget = *limit;
  }
  command.token_budget = TRY(budget<std::int64_t>(tokens_, "--token-budget"));
  command.cost_budget = TRY(budget<double>(cost_, "--cost-budget"));
  bool has_end = command.time_budget || command.token_budget || command.cost_budget;
  if (command.iterations == 0 && !has_end && command.resume.empty()) {
    return fail(ErrorCode::bad_usage,
                fmt::format("{} 0: without any other budget it would never end", rounds),
                "add --time-budget, --token-budget or --cost-budget");
  }
  if (!max_tokens_.empty()) {
    command.max_tokens = TRY(number_of<std::int64_t>(max_tokens_, "--max-tokens"));
    if (command.max_tokens < 256) return must_be("--max-tokens", "256 or more");
  }
  if (!seed_.empty()) command.seed = TRY(number_of<std::uint64_t>(seed_, "--seed"));
  command.shapes = TRY(assignments(shapes_, "--shape"));
  return command;
}

}  // namespace specgen
