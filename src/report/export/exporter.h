#pragma once
// The winner of a run as a drop-in: a folder of files that does not depend on specgen. Pure functions from task, source
// and tunables to files.
//
//   cpp    the kernel, a C function that runs it on threads, a test against reference.cc, a benchmark, a Makefile
//   cuda   the same with the kernels and a launcher generated from the specgen: lines
//   torch  a PyTorch extension around either, with a Python function, a test and a benchmark

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/pytorch/description.h"
#include "evaluate/task/kernel_task.h"
#include "evaluate/verdict.h"

namespace specgen {

enum class ExportForm : std::uint8_t { cpp, cuda, torch };
Result<ExportForm> parse_export_form(std::string_view name);
std::string_view to_string(ExportForm form);

struct ExportedKernel {
  KernelTask task;
  Backend backend = Backend::cpu;
  std::string source = {};
  Values tunables = {};
  Speedup speedup = {};
  std::string origin = {};  // for the README: run, candidate, device
};

struct ExportedFile {
  std::string name;
  std::string text;
};

// bad_usage for a form that the kernel's backend does not support.
Result<std::vector<ExportedFile>> export_kernel(const ExportedKernel& kernel, ExportForm form);

// A native kernel for a module in a PyTorch file. The description of the module's inputs and outputs comes from a
// process that ran it.
struct ExportedModule {
  ExportedKernel kernel;  // its task is derived from the description
  Description description;
  std::string problem;  // the file
};
Result<std::vector<ExportedFile>> export_native_module(const ExportedModule& module);
// A ModelNew class is already a drop-in: the module, and a test against the task's own.
std::vector<ExportedFile> export_python_module(std::string_view module, std::string_view problem,
                                               std::string_view origin);

}  // namespace specgen
