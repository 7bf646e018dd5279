#pragma once
// The C++ function that a CPU candidate of a task must define (docs/reference/tasks.md has the rules).

#include <string>
#include <string_view>
#include <vector>

#include "evaluate/task/kernel_task.h"

namespace specgen {

// extern "C" void relu(const float* x, float* out0, int64_t x_0, int64_t x_n, void* scratch,
//                      int tid, int nthreads);
// For people and for the model.
std::string cpu_signature(const KernelTask& task);
// The same for the compiler: without parameter names, which macros of a candidate could replace.
std::string cpu_declaration(const KernelTask& task);

// A C++ identifier for any text: "conv.weight" becomes conv_weight, "x.0" x_0, "double"
// double_, "" name.
std::string identifier_of(std::string_view text);
// The same, different from those in `taken`, to which it is added.
std::string unique_identifier(std::string_view text, std::vector<std::string>& taken);

}  // namespace specgen
