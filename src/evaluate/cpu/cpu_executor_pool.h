#pragma once
// Executors that are started ahead and wait in their sandboxes for a program: a sandbox starts
// three programs one after the other, for which a candidate should not have to wait. Each executor
// serves one program. They are started between jobs, never during a timing.

#include <deque>
#include <memory>
#include <vector>

#include "evaluate/cpu/cpu_executor.h"

namespace specgen {

class CpuExecutorPool {
 public:
  CpuExecutorPool(JudgeContext& context, std::vector<int> cores);

  // If fewer than `min` wait, starts more until there are `target`. Does not wait for them.
  Result<void> replenish(std::size_t min, std::size_t target);
  // Waits until all of them sleep.
  Task<void> settle();
  // An executor with that program loaded; starts one if none waits.
  Task<Result<std::unique_ptr<CpuExecutor>>> take(CpuProgram program, Finding& finding);

  std::size_t waiting() const { return waiting_.size(); }

 private:
  JudgeContext& context_;
  std::vector<int> cores_;
  std::deque<std::unique_ptr<CpuExecutor>> waiting_;
};

}  // namespace specgen
