#include "cli/compare_words.h"

#include <CLI/CLI.hpp>

namespace specgen {

void CompareWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "compare",
      "systems side by side: the peers' workflows, specgen, and specgen with parts of it off\n\n"
      "All on the same tasks, seeds and budgets, with as many generations at once. In virtual "
      "time\n"
      "scenarios say what the world is like; on real devices only the model is made up, and a run "
      "takes\n"
      "minutes: what is done is kept in --out, and the same command goes on. docs/compare.md tells "
      "more.");
  auto option = [&](const char* name, auto& into, const char* help, const char* type) {
    return app_->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
  };
  auto flag = [&](const char* name, bool& into, const char* help) {
    app_->add_flag(name, into, help)->disable_flag_override();
  };
  flag("--virtual", command_.is_virtual, "in virtual time, instead of on this host's devices");
  option("--scenario", command_.scenarios,
         "a file, or the name of one that ships; may be given again (default: paper-glm, "
         "paper-deepseek)",
         "NAME");
  option("--systems", command_.systems,
         "cudaforge, alphaevolve, kernelagent, dispatch2, specgen, specgen-split, -noharvest, "
         "-noforks,\n-nostop, -off, cudaforge+spec, alphaevolve+spec, kernelagent+spec",
         "LIST");
  option(
      "--tasks", command_.tasks,
      "for real: folders, or names of tasks that ship (default softmax,matmul_square,hinge_loss)",
      "LIST");
  option("--pace", command_.pace,
         "for real: of the author; generation should take 90 % of an iteration\n"
         "(default 600,tokens=12000: traces as long as large models', ten times as fast)",
         "P");
  option("--devices", command_.devices, "for real: auto (default), or a list such as cuda:0",
         "LIST");
  flag("--over-http", command_.over_http, "for real: ask the author through its HTTP server");
  option("--seeds", command_.seeds, "of each system (default 5 in virtual time, 3 for real)", "N")
      ->check(CLI::Range(1, 10'000));
  option("--iterations", command_.iterations,
         "of each workflow (default: the scenario's in virtual time, 6 for real)", "N")
      ->check(CLI::Range(1, 1'000'000));
  flag("--sweep", command_.sweep, "change one thing at a time, to see where it does not pay");
  option("--html", command_.html, "draw it all on one page", "FILE");
  option("--out", command_.out,
         "a folder for what is done already: begun again, it goes on\n"
         "(default: none in virtual time, specgen-comparison for real)",
         "DIR");
  flag("--json", command_.json, "print one JSON document (schema specgen.comparison)");
}

std::optional<Invocation> CompareWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  Invocation invocation;
  invocation.what = command_;
  return invocation;
}

}  // namespace specgen
