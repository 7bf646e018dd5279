#pragma once
// `specgen tasks --check`: the admission test (admission.h) of a task on every backend that it has a baseline for. A
// baseline for which this host has no device is reported as not checked, never as admitted.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/task/kernel_task.h"
#include "runtime/task.h"

namespace specgen {

// The result for the baseline of one backend.
struct BaselineCheck {
  enum class State : std::uint8_t { admitted, refused, not_checked };
  Backend backend = Backend::cpu;
  State state = State::not_checked;
  std::string reason = {};  // of a state that is not admitted
  std::int64_t checks = 0;
};
std::string to_string(const BaselineCheck& check);  // "admitted", "not checked: no GPU"

class TaskChecker {
 public:
  // Runs the admission test of a task ("tasks/softmax:f16") on a device and returns the judge's
  // answer.
  using Ask = std::function<Task<Result<Json>>(std::string device, std::string task)>;

  // `device`: check only on this one; empty: on cpu:0 and, where there is a GPU, on cuda:0.
  TaskChecker(Ask ask, std::string device) : ask_(std::move(ask)), device_(std::move(device)) {}

  // One result per baseline. Errors are the host's fault, never the task's.
  Task<Result<std::vector<BaselineCheck>>> check(const KernelTask& task, std::string where);

 private:
  Task<Result<BaselineCheck>> check_on(Backend backend, std::string device, std::string where);

  Ask ask_;
  std::string device_;
  bool has_no_gpu_ = false;  // known after the first attempt
};

// Judge processes for TaskChecker, one per device; one that died with a task is replaced. Everything
// outlives the function.
TaskChecker::Ask ask_judges(Loop& loop, RealDriver& driver, Processes& processes, JudgeSetup setup);

}  // namespace specgen
