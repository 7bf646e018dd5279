#pragma once
// The comparison in virtual time: every system in every scenario with every seed, each in a simulation of its own.
// Simulations share nothing and run on several threads. With a folder for results, a result is stored there and reused
// while scenario, system, seed and identity are the same.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/comparison.h"
#include "compare/system.h"
#include "simulate/simulation.h"

namespace specgen {

struct VirtualSetting {
  Scenario scenario;
  std::string name;    // "paper-glm", "paper-glm: half the devices"
  std::string source;  // text of the scenario file, to distinguish it from others
  std::vector<System> systems;
};

struct VirtualPlan {
  std::vector<VirtualSetting> settings;
  std::uint64_t seeds = 5;      // 1, 2, ...
  std::int64_t iterations = 0;  // of each workflow; 0: as in the scenario
  std::filesystem::path cells;  // folder for results of simulations; empty: none
  std::string made_by = {};     // run_identity(); results of another are not reused
  DataFolders folders;
  int workers = 2;
  std::function<void(std::size_t done, std::size_t all)> on_progress;
};

// The scenario with the settings of this system.
Scenario scenario_of(Scenario scenario, const System& system);

// In the order of the plan's settings. Fails if a simulation cannot be set up or violates an invariant.
Result<std::vector<ComparedSetting>> compare_virtually(const VirtualPlan& plan);

// Variants with one setting changed at a time, to show where speculation does not pay.
std::vector<VirtualSetting> sweep_of(const VirtualSetting& setting);

}  // namespace specgen
