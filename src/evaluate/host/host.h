#pragma once
// What this host offers, found by trying and never assumed: compilers, GPUs and NVIDIA's libraries,
// what a sandbox can be built from, Python, the machine. `specgen doctor` shows it, a node tells it
// to its controller, backends and the sandbox choose by it.
//
// All probes run side by side, each within the same limit: a tool that hangs costs that long and
// becomes a finding. Cancelling ends every child. No CUDA context is created.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/machine.h"
#include "evaluate/host/sandbox_features.h"
#include "evaluate/host/tools.h"
#include "runtime/loop.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct HostReport {
  CudaReport cuda;
  SandboxFeatures sandbox;
  Tools tools;
  Machine machine;
};

// Which backends could do their job here.
struct Ready {
  bool cpu = false;      // a C++ compiler works
  bool cuda = false;     // the driver sees a GPU that NVRTC compiles for
  bool pytorch = false;  // torch can be imported, and one of the two above judges its candidates
  bool any() const { return cpu || cuda; }
};
Ready ready(const HostReport& host);

struct HostProbe {
  std::vector<std::string> compilers{"g++", "clang++"};
  std::string python = "python3";
  std::string ncu = "ncu";
  std::filesystem::path runs_folder = "specgen-runs";
  Duration time_limit = std::chrono::seconds(20);
  // How this very program is called: it answers `internal-probe` and `--version`.
  std::string self = "/proc/self/exe";
  // Told before the first probe and after each: whose answers are still awaited.
  std::function<void(std::span<const std::string> awaited, std::size_t total)> on_progress;
};

Task<Result<HostReport>> probe_host(Loop& loop, Processes& processes, HostProbe probe);

}  // namespace specgen
