#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/options.h"
#include "cli/run_search.h"

namespace specgen {
namespace {

constexpr const char* kIterations = "--iterations";

class OptimizeCommand : public CliCommand {
 public:
  explicit OptimizeCommand(CLI::App& app) : app_(app) {
    options_.add_shared_to(app, kIterations, "of each task (default 10; 0: no limit)");
    auto option = [&](const char* name, auto& into, const char* help, const char* type) {
      return app.add_option(name, into, help)->type_name(type);
    };
    option("--workflow", options_.workflow,
           "refine (default), cudaforge, alphaevolve, kernelagent, dispatch2", "NAME");
    add_flag(app, "--no-speculate", no_speculate_, "no harvest, no forks, no early stop");
    add_flag(app, "--no-harvest", no_harvest_, "ignore kernels in the reasoning");
    add_flag(app, "--no-forks", no_forks_, "no second answers from the middle of the reasoning");
    add_flag(app, "--no-tune", no_tune_,
             "leave the values of specgen:tune lines as the model wrote them");
    option("--criterion", options_.criterion,
           "what stops the reasoning early: beats-mean (default), beats-best, target=X, "
           "peak-fraction=X, never",
           "C");
    option("--pool", options_.pool, "elastic (default), split or per-task", "FORM");
    CLI::Option* kv = option("--kv", options_.kv,
                             "give memory of this host that no job uses to the LLM server as a KV "
                             "cache (docs/guide/kvcache.md)",
                             "SIZE[,device=SIZE]");
    option("--kv-listen", options_.kv_listen,
           "where the LLM server connects (default 127.0.0.1:6380)", "ADDR")
        ->needs(kv);
    option("--start", options_.start, "a kernel to start from", "FILE");
    between(option("--shadow", options_.shadow,
                   "share of the early stops whose stream continues unused, to measure what "
                   "stopping saves",
                   "P"),
            0, 1);
    between(option("--thinkers", options_.thinkers,
                   "concurrent reasoning generations of a task (default: as many as the workflow "
                   "starts)",
                   "N"),
            1, 10'000);
    option("--record", options_.record, "record the model's answers into a cassette", "FILE");
  }

  Result<void> validate() override {
    options_.speculate = !no_speculate_;
    options_.harvest = !no_harvest_;
    options_.forks = !no_forks_;
    options_.tune = !no_tune_;
    return options_.validate(app_, kIterations);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    return run_search(options_, TRY(context.settings()));
  }

 private:
  CLI::App& app_;  // until validate() is done
  SearchOptions options_;
  bool no_speculate_ = false, no_harvest_ = false, no_forks_ = false, no_tune_ = false;
};

}  // namespace

AddedCommand add_optimize_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "optimize",
      "make kernels faster: a model writes them, this host judges and times them\n\n"
      "TASK is a task that ships (see `specgen tasks`), a task folder, FOLDER:DTYPE, or a\n"
      "KernelBench-style .py file. Everything is kept in the run's folder: Ctrl-C ends the run in\n"
      "good order, and --resume continues it, also after a crash. --json has the schema\n"
      "specgen.optimize.\n\n"
      "Exit code 0 if there is a kernel whose verdict is ok, 1 if not, 130 after Ctrl-C.");
  return {app, std::make_unique<OptimizeCommand>(*app)};
}

}  // namespace specgen
