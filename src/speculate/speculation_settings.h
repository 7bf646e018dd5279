#pragma once
// How a run speculates, and the keys by which specgen.toml and scenarios set it: [speculation]. The keys are read here
// alone, so that both kinds of files know the same ones. docs/reference/speculation.md explains them.

#include <cstdint>

#include "base/toml.h"
#include "speculate/gate.h"
#include "speculate/stopping_policy.h"

namespace specgen {

struct SpeculationSettings {
  bool harvest = true;
  bool forks = true;
  GateSettings gate = {};
  StoppingSettings stopping = {};
  // Maximum repairs in one iteration: a candidate that fails is repaired at once by a non-reasoning generation that
  // knows the failure. 0: none.
  int max_repairs = 2;
  std::int64_t fork_max_tokens = 8192;
  double shadow =
      0;  // share of the stopped streams that continue unused, to measure what stopping saves
};

// Reads the keys of the gate, the stopping policy and the repairs. Keys that are missing leave the settings alone;
// wrong values are rejected with their line. Former names of the keys are still read.
void read_speculation_keys(TomlTable& table, SpeculationSettings& settings);

}  // namespace specgen
