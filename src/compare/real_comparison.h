#pragma once
// The comparison on real devices: every system with every seed is a run of `specgen optimize` in a folder of
// its own, on
// the same tasks, with the author as the model. Only the model is synthetic; compilers, judges and timings are real. A
// run that has ended is not repeated, an interrupted one is resumed (over HTTP: restarted), so a comparison
// may be stopped
// at any time. A folder with runs of another specgen is refused and left as it is.
//
// Systems take turns within a seed, so that slow changes of the machine affect all of them.

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
  std::vector<double> slacks;  // one setting for each; empty: the author's default
  std::string devices = "auto";
  bool over_http = false;        // the author behind its server, like any other model
  std::filesystem::path folder;  // for the runs; created if it is missing
  std::string made_by = {};      // run_identity()
  std::function<void(std::size_t done, std::size_t all, const std::string& what)> on_progress = {};
};

struct RealParts {  // all outlive the comparison
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
};

// bad_usage if generation takes less than half of an iteration without speculation: the comparison would then measure
// evaluation. Not checked if all systems speculate.
Task<Result<std::vector<ComparedSetting>>> compare_for_real(RealParts parts, RealPlan plan);

// The arguments of `specgen optimize` for a run, without its model.
std::vector<std::string> arguments_of(const System& system, const RealPlan& plan,
                                      std::uint64_t seed);

}  // namespace specgen
