#pragma once
// Whether a level holds, found by running poison inside a sandbox of that level. Two sandboxed commands:
// one that tries everything quick, one that wants twice its memory. Costs about a tenth of a
// second.

#include <string>

#include "evaluate/sandbox/sandbox.h"
#include "runtime/loop.h"

namespace specgen {

struct LevelTrial {
  bool held = false;
  std::string problem = {};  // what was not contained, in words
};

// `sandbox` is of the level in question; `self` as in SandboxOptions.
Task<LevelTrial> try_level(Loop& loop, Processes& processes, const Sandbox& sandbox,
                           std::vector<std::string> self);

// From what the poison wrote: the first thing that this level promises and that did not hold.
std::string first_escape(SandboxLevel level, std::string_view told);

}  // namespace specgen
