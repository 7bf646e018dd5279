#pragma once
// The systems that are compared: a workflow, which parts of speculation are on, and how devices are shared. All run on
// the same code.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace specgen {

struct System {
  std::string name;      // "specgen", "cudaforge", "cudaforge+spec", ...
  std::string workflow;  // name for find_workflow()
  bool harvest = false;
  bool forks = false;
  bool early_stop = false;
  PoolForm pool = PoolForm::per_task;
  // Streams that reason at once, per task. One for every system, so that none wins by using more of a server; only
  // dispatch2, which is defined by two at once, has two. That favours it.
  int max_streams = 1;
  // Main generations per round. A round counts as one iteration: the system gets this many times the iterations, and a
  // round has feedback if any of its generations has.
  int generations = 1;

  bool speculates() const { return harvest || forks; }
};

// The paper's baselines, dispatch2, specgen, its ablations, and each baseline with speculation.
const std::vector<System>& systems();
std::vector<std::string> system_names();
// unknown_name, with the most similar name, if there is no such system.
Result<std::vector<System>> find_systems(std::string_view names_with_commas);

}  // namespace specgen
