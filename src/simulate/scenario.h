#pragma once
// The description of a simulation: a TOML file (scenarios/*.toml), read strictly. Every key has a default for a
// moderate simulation without faults; docs/reference/simulation.md lists all keys. An impossible value (no device, a
// probability above one, a negative time) is an error with file, line, key and reason.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "schedule/evaluation_pool.h"
#include "simulate/faults.h"
#include "simulate/virtual_host.h"
#include "simulate/virtual_model.h"
#include "speculate/speculation_settings.h"

namespace specgen {

struct ScenarioRun {
  std::string workflow = "refine";
  std::string criterion = "beats-mean";
  std::string triggers = "any";  // the family whose trigger set is used
  std::int64_t workflows = 10;   // tasks, with one workflow each
  std::int64_t iterations = 20;  // of each workflow
  std::int64_t max_streams = 0;  // reasoning streams of a workflow at the same time; 0: no limit
  std::int64_t token_budget = 0;
  Duration time_budget{};
  std::int64_t max_tokens = 65'536;  // of a generation
  Duration patience = std::chrono::hours(6);
};

struct ScenarioChecks {
  std::int64_t fold_every = 1000;  // loop events; 0: at kills and at the end only
  Duration starvation = std::chrono::hours(2);
  Duration max_time = std::chrono::hours(24 * 365);  // limit for the run
};

struct Scenario {
  std::string name;  // of the file, as the user wrote it
  std::string title;
  ScenarioRun run;
  SpeculationSettings speculation{
      // The virtual model cannot repair; the paper has no such rules as the others.
      .stopping = {.settle_after = 0, .max_restarts = 0},
      .max_repairs = 0};
  ModelSettings model;
  std::int64_t hosts = 2;
  HostSettings host;
  PoolSettings pool;
  FaultSettings faults;
  ScenarioChecks checks;

  std::int64_t devices() const { return hosts * host.devices; }
};

Result<Scenario> load_scenario(const std::filesystem::path& file);
Result<Scenario> parse_scenario(std::string_view toml, std::string name);

}  // namespace specgen
