#pragma once
// The comparison on real devices: every system with every seed is a run of `specgen optimize` in a folder of its own,
// on the same tasks, with the author as the model. Nothing but the model is made up: compilers, judges and timings are
// real. What is over is not run again, what was interrupted goes on, or over HTTP is begun anew; so a comparison may be
// stopped at any time. Runs that another specgen has made are left alone, and refused.
//
// Systems take turns within a seed, so that a machine that drifts does so for all of them.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/comparison.h"
#include "compare/system.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/subprocess.h"

namespace specgen {

struct RealPlan {
  std::filesystem::path program;  // specgen
  std::vector<std::string> tasks;
  std::vector<System> systems;
  std::uint64_t seeds = 3;  // 1, 2, ...
  std::int64_t iterations = 6;
  std::string pace;            // of the author
  std::vector<double> slacks;  // a setting for each; empty: the author's own
  std::string devices = "auto";
  bool over_http = false;        // ask the author through its server, as any other model
  std::filesystem::path folder;  // for the runs; made if it is not there
  std::string made_by = {};      // run_identity()
  std::function<void(std::size_t done, std::size_t all, const std::string& what)> on_progress = {};
};

struct RealParts {  // all outlive the comparison
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
};

// bad_usage where generation takes less than half of an iteration without speculation: what is compared then is how
// long judging takes. Where all systems speculate nothing tells.
Task<Result<std::vector<ComparedSetting>>> compare_for_real(RealParts parts, RealPlan plan);

// The words of a run, but for its model: `specgen optimize WORDS`.
std::vector<std::string> words_of(const System& system, const RealPlan& plan, std::uint64_t seed);

}  // namespace specgen
