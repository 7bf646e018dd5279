#pragma once
// How long PyTorch (and so cuBLAS, cuDNN, oneDNN) needs for a case of a native task, by the task's
// `vendor` expression. Taken once per case and device and kept: it stands beside a speedup, it is not
// part of it. Runs in a box of its own.

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
  measured,  // if it is not known yet; starting torch takes seconds
  as_known,
};

// Seconds. An error where torch cannot do it, or it is not known. The task names a vendor.
Task<Result<double>> time_vendor(JudgeContext& context, const Python& python,
                                 const KernelTask& task, const Case& at, VendorPlace place,
                                 VendorTime how);

}  // namespace specgen
