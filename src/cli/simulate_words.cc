#include "cli/simulate_words.h"

#include <CLI/CLI.hpp>

namespace specgen {

void SimulateWords::add_to(CLI::App& app) {
  app_ = app.add_subcommand(
      "simulate",
      "run a scenario in virtual time: the real code, a made-up model, made-up devices, faults\n\n"
      "The same seed takes the same steps. Exit code 1 if something that must hold did not; the\n"
      "output then has the line that repeats it. docs/simulation.md explains scenarios.");
  app_->add_option("SCENARIO", command_.scenario,
                   "a file, or the name of one that ships: calm, faults, storm, speed, fleet")
      ->required();
  app_->add_option("--seed", command_.seed, "the first seed (default 1)")->type_name("N");
  app_->add_option("--seeds", command_.seeds, "how many, one after another (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  app_->add_option("--pictures", command_.pictures,
                   "a folder for time lines and utilisation of the last seed, as SVG")
      ->type_name("DIR");
  app_->add_flag("--json", command_.json, "print one JSON document (schema specgen.simulation)")
      ->disable_flag_override();
}

std::optional<Invocation> SimulateWords::chosen() const {
  if (!app_->parsed()) return std::nullopt;
  Invocation invocation;
  invocation.what = command_;
  return invocation;
}

}  // namespace specgen
