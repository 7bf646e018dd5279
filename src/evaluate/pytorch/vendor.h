#pragma once
// The time of PyTorch (and so of cuBLAS, cuDNN, oneDNN) for a case of a native task, by the task's `vendor` expression.
// Measured once per case and device and cached: it is reported beside a speedup and is not part of it. Runs in its own
// sandbox.

#include <cstdint>
#include <string>

#include "evaluate/judge/judge_context.h"
#include "evaluate/task/cases.h"
#include "evaluate/task/kernel_task.h"
#include "runtime/task.h"

namespace specgen {

struct Python;  // python_process.h

struct VendorPlace {
  std::string device = "cpu";  // as torch names it
  std::string name;            // the device's model
  int threads = 1;             // on a CPU
};

enum class VendorTime : std::uint8_t {
  measured,  // if it is not cached; starting torch takes seconds
  as_known,
};

// Seconds. An error if torch cannot do it, or it is not cached. The task has a vendor expression.
Task<Result<double>> time_vendor(JudgeContext& context, const Python& python,
                                 const KernelTask& task, const Case& at, VendorPlace place,
                                 VendorTime how);

}  // namespace specgen
