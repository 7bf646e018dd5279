#pragma once
// The systems that are compared: a workflow, what of speculation is on, and how it shares devices. All run on the same
// code; only what makes them different differs.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace specgen {

struct System {
  std::string name;      // "specgen", "cudaforge", "cudaforge+spec", ...
  std::string workflow;  // as find_workflow() knows it
  bool harvest = false;
  bool forks = false;
  bool early_stop = false;
  PoolForm pool = PoolForm::per_task;
  // Generations that think at once, of a task. One for all, so that no system wins by asking a server for more; only
  // dispatch2, which is two at once by its nature, has two. That favours it.
  int thinkers = 1;
  // Main generations that make up one round. A round counts as one iteration: it gets this many times the iterations,
  // and has feedback if any of them had.
  int generations = 1;

  bool speculates() const { return harvest || forks; }
};

// The paper's baselines and its other technique, specgen, its ablations, and each baseline with speculation.
const std::vector<System>& systems();
std::vector<std::string> system_names();
// unknown_name, with the nearest
Result<std::vector<System>> find_systems(std::string_view names_with_commas);

}  // namespace specgen
