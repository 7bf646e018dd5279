#include "evaluate/cpu/cpu_executor_pool.h"

#include "runtime/stopwatch.h"

namespace specgen {

CpuExecutorPool::CpuExecutorPool(JudgeContext& context, std::vector<int> cores)
    : context_(context), cores_(std::move(cores)) {}

Result<void> CpuExecutorPool::replenish(std::size_t min, std::size_t target) {
  if (waiting_.size() >= min) return {};
  // Executors inherit the priority of the judge that times them.
  ask_for_preference(true);
  Result<void> started;
  while (started && waiting_.size() < target) {
    auto executor = CpuExecutor::start(context_, {.cores = cores_});
    if (executor) {
      waiting_.push_back(std::move(*executor));
    } else {
      started = std::unexpected(executor.error());
    }
  }
  ask_for_preference(false);
  return started;
}

Task<void> CpuExecutorPool::settle() {
  for (auto executor = waiting_.begin(); executor != waiting_.end();) {
    auto ready = co_await (*executor)->ready();
    executor = ready ? std::next(executor) : waiting_.erase(executor);
  }
}

Task<Result<std::unique_ptr<CpuExecutor>>> CpuExecutorPool::take(CpuProgram program,
                                                                 Finding& finding) {
  std::unique_ptr<CpuExecutor> executor;
  while (!executor && !waiting_.empty()) {
    executor = std::move(waiting_.front());
    waiting_.pop_front();
    // It may have failed to start, or been killed because the host needed memory: take another.
    if (!co_await executor->ready()) executor.reset();
  }
  if (!executor) executor = CO_TRY(CpuExecutor::start(context_, {.cores = cores_}));
  CO_TRY(co_await executor->load(std::move(program), finding));
  co_return executor;
}

}  // namespace specgen
