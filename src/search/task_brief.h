#pragma once
// What a prompt says about a task, the same for every workflow. Plain text, made once for a run.

#include <string>
#include <string_view>

#include "evaluate/task/kernel_task.h"

namespace specgen {

struct TaskBrief {
  std::string title = {};        // "softmax"
  std::string backend = {};      // "cpu" or "cuda"
  std::string description = {};  // tensors, shapes, which cases are timed, how exact it must be
  std::string signature = {};    // what is to be defined, or which names launch lines may use
  std::string hardware = {};     // what it runs on
  std::string baseline = {};     // its source, or the PyTorch file
  bool is_pytorch = false;       // the task is a PyTorch file: its baseline is no candidate
  bool model_new = false;        // candidates are Python with a class ModelNew
};

TaskBrief brief_of(const KernelTask& task, Backend backend, std::string_view device_name);

// Of a PyTorch file: the module is the description. `known`: what the reference process reported, if it was asked;
// with it a native candidate's signature is exact, without it the rules for it are given.
TaskBrief brief_of_python(std::string_view title, std::string_view source, std::string_view backend,
                          std::string_view device_name, bool model_new,
                          const KernelTask* known = nullptr);

}  // namespace specgen
