#pragma once
// What this host has, found by trying and never assumed: compilers, GPUs and NVIDIA's libraries,
// what a sandbox can be built from, Python, the machine. `specgen doctor` shows it, a node reports
// it to its controller, backends and the sandbox depend on it.
//
// All probes run concurrently with the same time limit: a tool that hangs takes that long and is reported.
// Cancelling ends every child. No CUDA context is created.

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

// Which backends are usable here.
struct Ready {
  bool cpu = false;      // a C++ compiler works
  bool cuda = false;     // the driver sees a GPU that NVRTC compiles for
  bool pytorch = false;  // torch can be imported, and one of the other two works
  bool any() const { return cpu || cuda; }
};
Ready ready(const HostReport& host);

struct HostProbe {
  std::vector<std::string> compilers{"g++", "clang++"};
  std::string python = "python3";
  std::string ncu = "ncu";
  std::filesystem::path runs_folder = "specgen-runs";
  Duration time_limit = std::chrono::seconds(20);
  // How this program is called; it handles `internal-probe` and `--version`.
  std::string self = "/proc/self/exe";
  // Called before the first probe and after each, with the names of the pending ones.
  std::function<void(std::span<const std::string> awaited, std::size_t total)> on_progress;
};

Task<Result<HostReport>> probe_host(Loop& loop, Processes& processes, HostProbe probe);

}  // namespace specgen
