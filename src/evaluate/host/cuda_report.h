#pragma once
// What this host has for CUDA, probed in one child process per library: one that hangs or crashes does not affect the
// others.

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluate/host/cuda_libraries.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

// One library, by the name of its internal probe (driver, nvrtc, nvml, cupti). `into` outlives the
// task.
Task<void> probe_cuda_library(Processes& processes, std::vector<std::string> self, std::string what,
                              Duration limit, CudaReport& into);

// Without any library: the kernel module and the devices on the bus.
void look_for_nvidia_driver(CudaReport& into);

Json to_json(const Gpu& gpu);
Json to_json(const CudaReport& report);
CudaReport cuda_report_from_json(const Json& value);

}  // namespace specgen
