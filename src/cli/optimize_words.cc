#include "cli/optimize_words.h"

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace specgen {

void OptimizeWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "optimize",
      "make kernels faster: a model writes them, this host judges and times them\n\n"
      "TASK is a task folder, FOLDER:DTYPE, or a KernelBench-style .py file. What is known goes "
      "into "
      "a folder;\n"
      "Ctrl-C ends in good order, and --resume goes on. Exit code 0 if there is a kernel that is "
      "ok, "
      "1 if not. --json has the schema specgen.optimize.");
  shared_.add_to(*app_, "--iterations", "of each task (default 10; 0: no limit)");
  auto option = [&](const char* name, auto& into, const char* help, const char* type) {
    return app_->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
  };
  auto flag = [&](const char* name, bool& into, const char* help) {
    app_->add_flag(name, into, help)->disable_flag_override();
  };
  option("--workflow", command_.workflow,
         "refine (default), cudaforge, alphaevolve, kernelagent, dispatch2", "NAME");
  flag("--no-speculate", no_speculate_, "no harvest, no forks, no early stop");
  flag("--no-harvest", no_harvest_, "leave kernels in the thinking alone");
  flag("--no-forks", no_forks_, "no second answers from the middle of the thinking");
  flag("--no-tune", no_tune_, "leave the values of specgen:tune lines as they were written");
  option("--criterion", command_.criterion,
         "what ends the thinking early: beats-mean (default), beats-best, target=X, "
         "peak-fraction=X, never",
         "C");
  option("--pool", command_.pool, "elastic (default), split or per-task", "FORM");
  auto* kv = option("--kv", command_.kv,
                    "memory of this host that no job uses, lent to the LLM server as a KV cache "
                    "(docs/kvcache.md)",
                    "SIZE[,device=SIZE]");
  option("--kv-listen", command_.kv_listen, "where it connects (default 127.0.0.1:6380)", "ADDR")
      ->needs(kv);
  option("--start", command_.start, "a kernel to begin from", "FILE");
  option("--shadow", shadow_,
         "share of the streams that would be stopped and run on unseen, to measure what that saves",
         "P");
  option("--thinkers", thinkers_,
         "generations that think at once, of a task (default: as many as the workflow starts)",
         "N");
  option("--record", command_.record, "record the model's answers into a cassette", "FILE");
}

std::optional<Result<Optimize>> OptimizeWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  return look();
}

Result<Optimize> OptimizeWords::look() const {
  Optimize command = TRY(shared_.look(command_, "--iterations"));
  command.speculate = !no_speculate_;
  command.harvest = !no_harvest_;
  command.forks = !no_forks_;
  command.tune = !no_tune_;
  if (!shadow_.empty()) {
    command.shadow = TRY(number_of<double>(shadow_, "--shadow"));
    if (command.shadow < 0 || command.shadow > 1) return must_be("--shadow", "between 0 and 1");
  }
  if (!thinkers_.empty()) {
    command.thinkers = TRY(number_of<std::int64_t>(thinkers_, "--thinkers"));
    constexpr std::int64_t kMaxThinkers = 10'000;
    if (command.thinkers < 1 || command.thinkers > kMaxThinkers) {
      return must_be("--thinkers", "between 1 and 10000; leave it out for no limit");
    }
  }
  return command;
}

}  // namespace specgen
