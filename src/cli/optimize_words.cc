#include "cli/optimize_words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace specgen {
namespace {

std::unexpected<Error> must_be(std::string_view flag, std::string_view what) {
  return fail(ErrorCode::bad_usage, fmt::format("{} must be {}", flag, what));
}

// A budget that is spent before anything happens is a mistake.
template <class Number>
Result<std::optional<Number>> budget(const std::string& text, std::string_view flag) {
  if (text.empty()) return std::nullopt;
  Number value = TRY(number_of<Number>(text, flag));
  if (!(value > 0)) return must_be(flag, "above 0; leave it out for no limit");
  return value;
}

}  // namespace

void OptimizeWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "optimize",
      "make kernels faster: a model writes them, this host judges and times them\n\n"
      "TASK is a task folder, FOLDER:DTYPE, or a KernelBench-style .py file. What is known goes "
      "into "
      "a folder;\n"
      "Ctrl-C ends in good order, and --resume goes on. Exit code 0 if there is a kernel that is "
      "ok, "
      "1 if not.");
  auto option = [&](const char* name, auto& into, const char* help, const char* type) {
    return app_->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
  };
  auto flag = [&](const char* name, bool& into, const char* help) {
    app_->add_flag(name, into, help)->disable_flag_override();
  };
  app_->add_option("TASK", command_.tasks, "what to make faster");
  option("--model", command_.model,
         "author (default), author:PACE, openai:NAME@URL, cassette:FILE, or a name of specgen.toml",
         "SPEC");
  option("--workflow", command_.workflow, "refine (default), cudaforge, alphaevolve, kernelagent",
         "NAME");
  flag("--no-speculate", no_speculate_, "no harvest, no forks, no early stop");
  flag("--no-harvest", no_harvest_, "leave kernels in the thinking alone");
  flag("--no-forks", no_forks_, "no second answers from the middle of the thinking");
  flag("--no-tune", no_tune_, "leave the values of specgen:tune lines as they were written");
  option("--criterion", command_.criterion,
         "what ends the thinking early: beats-mean (default), beats-best, target=X, "
         "peak-fraction=X, never",
         "C");
  option("--iterations", iterations_, "of each task (default 10; 0: no limit)", "N");
  option("--time-budget", time_, "for all of it, such as 30m", "D");
  option("--token-budget", tokens_, "for all of it, prompts included", "N");
  option("--cost-budget", cost_, "for all of it, by the prices in specgen.toml", "USD");
  option("--max-tokens", most_tokens_, "of one generation, thinking included (default 32768)", "N");
  option("--devices", command_.devices, "auto (default), or a list such as cpu:0,cuda:1", "LIST");
  option("--pool", command_.pool, "elastic (default), split or per-task", "FORM");
  option("--start", command_.start, "a kernel to begin from", "FILE");
  option("--shape", shapes_, "a constant of a PyTorch task's file, replaced", "NAME=N");
  flag("--model-new", command_.model_new,
       "PyTorch tasks: candidates are Python modules (ModelNew)");
  option("--shadow", shadow_,
         "share of the streams that would be stopped and run on unseen, to measure what that saves",
         "P");
  option("--record", command_.record, "record the model's answers into a cassette", "FILE");
  option("--out", command_.out, "the run's folder (default: a new one in specgen-runs)", "DIR");
  option("--resume", command_.resume, "go on with the run in this folder", "DIR");
  option("--seed", seed_, "for whatever is drawn by chance (default 0)", "N");
  flag("--json", command_.json, "print one JSON document (schema specgen.optimize)");
}

std::optional<Result<Optimize>> OptimizeWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  return look();
}

Result<Optimize> OptimizeWords::look() const {
  Optimize command = command_;
  if (command.tasks.empty() && command.resume.empty()) {
    return fail(ErrorCode::bad_usage, "optimize: what is to be made faster?",
                "name a task, such as tasks/softmax; `specgen tasks` lists those that ship");
  }
  if (!command.tasks.empty() && !command.resume.empty()) {
    return fail(ErrorCode::bad_usage, "--resume: a run has its tasks already",
                "leave the tasks out");
  }
  command.speculate = !no_speculate_;
  command.harvest = !no_harvest_;
  command.forks = !no_forks_;
  command.tune = !no_tune_;
  if (!iterations_.empty()) {
    command.iterations = TRY(number_of<std::int64_t>(iterations_, "--iterations"));
    if (*command.iterations < 0) return must_be("--iterations", "0 or more");
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
    return fail(ErrorCode::bad_usage, "--iterations 0: without any other budget it would never end",
                "add --time-budget, --token-budget or --cost-budget");
  }
  if (!most_tokens_.empty()) {
    command.max_tokens = TRY(number_of<std::int64_t>(most_tokens_, "--max-tokens"));
    if (command.max_tokens < 256) return must_be("--max-tokens", "256 or more");
  }
  if (!shadow_.empty()) {
    command.shadow = TRY(number_of<double>(shadow_, "--shadow"));
    if (command.shadow < 0 || command.shadow > 1) return must_be("--shadow", "between 0 and 1");
  }
  if (!seed_.empty()) command.seed = TRY(number_of<std::uint64_t>(seed_, "--seed"));
  command.shapes = TRY(assignments(shapes_, "--shape"));
  return command;
}

}  // namespace specgen
