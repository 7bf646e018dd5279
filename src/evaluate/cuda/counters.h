#pragma once
// Hardware counters of one run, by NVIDIA's profiler (ncu). It runs a program of ours that makes
// one call of a candidate: `PROGRAM internal-cuda-executor-once FOLDER`. Takes two seconds and
// needs a permission that many hosts do not give; the note then says what is missing.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/judge/test_rig.h"
#include "runtime/subprocess.h"

namespace specgen {

// Everything that one call needs, as files in a folder.
struct OnceJob {
  int device = 0;
  Case at;
  std::vector<Distribution> distributions;  // of the inputs
  std::uint64_t seed = 1;
  LaunchPlan plan;
  std::vector<std::string> functions;  // mangled, one per launch
  std::string inputs_binary;           // kInputKernelSource, compiled
  std::string tools_binary;            // kExecutorKernelSource, compiled
  std::string candidate_binary;
};
Result<void> write_once_job(const std::filesystem::path& folder, const OnceJob& job);
Result<OnceJob> read_once_job(const std::filesystem::path& folder);

// {"available": bool, "note": text, "kernels": [{name, metric: value...}]}. Never an Error:
// counters are optional.
Task<Json> take_counters(Processes& processes, std::vector<std::string> self, std::string ncu,
                         OnceJob job);

// The output of `ncu --csv --page raw`, by kernel. Empty if it contains no table.
Json read_counters(std::string_view csv);

}  // namespace specgen
