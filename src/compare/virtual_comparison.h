#pragma once
// The comparison in virtual time: every system in every scenario with every seed, each a simulation of its own. Worlds share
// nothing and run on as many threads as there are cores. What a simulation came to is kept in a file, if there is a folder
// for it, and is not computed again while scenario, system, seed and what makes it are the same.

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
  std::string source;  // what the scenario was read from, to tell it from others
  std::vector<System> systems;
};

struct VirtualPlan {
  std::vector<VirtualSetting> settings;
  std::uint64_t seeds = 5;      // 1, 2, ...
  std::int64_t iterations = 0;  // of each workflow; 0: as the scenario says
  std::filesystem::path cells;  // a folder for what each simulation came to; empty: none
  std::string made_by = {};     // run_identity(); of what another made there nothing is taken
  DataFolders folders;
  int workers = 2;
  std::function<void(std::size_t done, std::size_t all)> on_progress;
};

// The scenario as this system lives in it.
Scenario scenario_of(Scenario scenario, const System& system);

// In the order of the plan's settings. An error: a simulation could not be made, or something that must hold did not.
Result<std::vector<ComparedSetting>> compare_virtually(const VirtualPlan& plan);

// What is changed, one thing at a time, to see where speculation does not pay.
std::vector<VirtualSetting> sweep_of(const VirtualSetting& setting);

}  // namespace specgen
