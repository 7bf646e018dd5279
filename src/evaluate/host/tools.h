#pragma once
// The programs that an evaluation calls, each found and tried: a compiler works if it compiles a standard header to a
// shared library, a Python package if it can be imported.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/host/component.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct Tools {
  std::vector<Component> compilers;  // in order of preference
  Component nvcc{.name = "nvcc"};
  Component ncu{.name = "ncu"};
  Component compute_sanitizer{.name = "compute-sanitizer"};
  Component counters{.name = "counters"};  // works: this process may read the GPU's counters
  Component python{.name = "python3"};
  Component torch{.name = "torch"};
  Component triton{.name = "triton"};
  std::string torch_cuda;       // the CUDA version that torch was built for; empty for none
  bool torch_sees_gpu = false;  // torch.cuda.is_available()
};

// The folder for scratch files, and the time limit.
struct ToolTrial {
  std::filesystem::path folder;
  Duration time_limit;
};

// `into.name` is the name or path of the tool; `into` outlives the task.
Task<void> probe_compiler(Processes& processes, ToolTrial trial, Component& into);
Task<void> probe_cuda_tool(Processes& processes, ToolTrial trial, Component& into);
Task<void> probe_python(Processes& processes, ToolTrial trial, Component& into);
Task<void> probe_torch(Processes& processes, std::string python, ToolTrial trial, Tools& into);
Task<void> probe_triton(Processes& processes, std::string python, ToolTrial trial, Component& into);

// Hardware counters need CAP_SYS_ADMIN unless the driver allows them to all users.
void look_at_counters(Component& into);
bool counters_for_everybody(std::string_view driver_params);    // /proc/driver/nvidia/params
std::uint64_t effective_capabilities(std::string_view status);  // /proc/self/status

// On PATH, then in the folders of the toolkit and Nsight. Empty if not found.
std::filesystem::path find_cuda_tool(std::string_view name);

}  // namespace specgen
