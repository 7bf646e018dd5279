#pragma once
// Tests whether a level holds, by running hostile programs (poison.h) in a sandbox of that level:
// one that tries every quick attack, and one that takes twice its limit of memory. Costs about a
// tenth of a second.

#include <string>

#include "evaluate/sandbox/sandbox.h"
#include "runtime/loop.h"

namespace specgen {

struct LevelTrial {
  bool held = false;
  std::string problem = {};  // what was not contained
};

// `sandbox` has the level to test; `self` as in SandboxOptions.
Task<LevelTrial> try_level(Loop& loop, Processes& processes, const Sandbox& sandbox,
                           std::vector<std::string> self);

// From the report of the self-test: the first attack that this level must contain and did not.
std::string first_escape(SandboxLevel level, std::string_view report);

}  // namespace specgen
