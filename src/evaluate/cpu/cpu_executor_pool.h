#pragma once
// Executors that wait in their sandboxes for a program: building a sandbox takes three programs one after
// the other, which a candidate need not wait for. Each serves one program and is then thrown away,
// as if it had been started for it. They are started between jobs, never beside a timing.

#include <deque>
#include <memory>
#include <vector>

#include "evaluate/cpu/cpu_executor.h"

namespace specgen {

class CpuExecutorPool {
 public:
  CpuExecutorPool(JudgeContext& context, std::vector<int> cores);

  // Starts as many as are missing to `full`, if fewer than `least` wait. Does not wait for them.
  Result<void> replenish(std::size_t least, std::size_t full);
  // Until all of them sleep.
  Task<void> settle();
  // One with that program; a new one if none waits.
  Task<Result<std::unique_ptr<CpuExecutor>>> take(CpuProgram program, Finding& finding);

  std::size_t waiting() const { return waiting_.size(); }

 private:
  JudgeContext& context_;
  std::vector<int> cores_;
  std::deque<std::unique_ptr<CpuExecutor>> waiting_;
};

}  // namespace specgen
