#include "evaluate/cuda/cuda_device.h"

#include <fmt/core.h>

#include <algorithm>

#include "evaluate/cuda/ceilings.h"
#include "evaluate/cuda/cuda_test_rig.h"
#include "evaluate/cuda/judge_kernels.h"
#include "evaluate/task/data_cuda_source.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kMemoryPerExecutor = std::size_t{16} << 30;

}  // namespace

CudaDevice::CudaDevice(Loop& loop, RealDriver& driver, Processes& processes, CudaSettings settings,
                       CudaDeviceFacts facts)
    : loop_(loop),
      processes_(processes),
      settings_(std::move(settings)),
      facts_(std::move(facts)),
      info_{.id = fmt::format("cuda:{}", settings_.index),
            .name = facts_.name,
            .backend = Backend::cuda,
            .lock_names = {fmt::format("cuda-{}", settings_.index)},
            .judge_cores = allowed_cores(),  // kernels use none of them
            .facts_disturb_timing = settings_.counters},
      toolchain_({.loop = loop,
                  .driver = driver,
                  .processes = processes,
                  .self = settings_.self,
                  .wrap = settings_.wrap,
                  .architecture = facts_.architecture(),
                  .warm = settings_.warm_compilers},
                 settings_.allowed_folders),
      executors_({.loop = loop,
                  .driver = driver,
                  .processes = processes,
                  .self = settings_.self,
                  .wrap = settings_.wrap,
                  .device = settings_.index}),
      watch_(GpuWatch::open(facts_.pci_bus_id)),
      worker_(loop, driver) {}

Task<Result<std::unique_ptr<CudaDevice>>> CudaDevice::find(Loop& loop, RealDriver& driver,
                                                           Processes& processes,
                                                           CudaSettings settings) {
  const CudaDriver& cuda = *CO_TRY(CudaDriver::load());
  CudaDeviceFacts facts = CO_TRY(ask_cuda_device(cuda, settings.index));
  std::unique_ptr<CudaDevice> self(
      new CudaDevice(loop, driver, processes, std::move(settings), facts));
  self->tools_ = CO_TRY(co_await self->toolchain_.compile_ours(kExecutorKernelSource));
  self->inputs_binary_ = CO_TRY(co_await self->toolchain_.compile_ours(kInputKernelSource));
  std::string judge = CO_TRY(co_await self->toolchain_.compile_ours(kJudgeKernelSource));
  self->gpu_ = CO_TRY(co_await self->worker_.run(
      [&cuda, facts, binaries = JudgeBinaries{self->inputs_binary_, std::move(judge)}] {
        return JudgeGpu::open(cuda, facts, binaries);
      }));
  co_return self;
}

LaunchLimits CudaDevice::launch_limits() const {
  LaunchLimits limits;
  limits.threads_per_block = facts_.threads_per_block;
  for (std::size_t i = 0; i < 3; ++i) {
    limits.block[i] = facts_.block[i];
    limits.grid[i] = facts_.grid[i];
  }
  limits.shared_bytes = facts_.shared_bytes;
  // Every device with clusters supports eight blocks per cluster.
  limits.cluster_blocks = facts_.major >= 9 ? 8 : 1;
  limits.scratch_bytes = std::min<std::int64_t>(limits.scratch_bytes,
                                                static_cast<std::int64_t>(facts_.memory_bytes / 4));
  return limits;
}

Task<Result<std::unique_ptr<TestRig>>> CudaDevice::open_rig(const KernelTask&,
                                                            const Program& candidate,
                                                            const Program& baseline,
                                                            InputSource& source,
                                                            TestRigLimits limits) {
  auto executor = CO_TRY(co_await executors_.take());
  CudaTestRig::Context context{.loop = loop_,
                               .worker = worker_,
                               .gpu = gpu_,
                               .executors = executors_,
                               .watch = watch_,
                               .tools = tools_,
                               .limits = launch_limits()};
  co_return std::make_unique<CudaTestRig>(std::move(context), std::move(executor), candidate,
                                          baseline, source, limits);
}

Task<Result<Ceilings>> CudaDevice::measure_ceilings() {
  std::string binary = CO_TRY(co_await toolchain_.compile_ours(kCeilingKernelSource));
  co_return co_await worker_.run(
      [gpu = gpu_, binary = std::move(binary)] { return measure_cuda_ceilings(*gpu, binary); });
}

std::size_t CudaDevice::sets_for(Bytes footprint) const {
  return cuda_sets_for(footprint.count, facts_.l2_bytes, facts_.memory_bytes);
}

// A context takes half a gigabyte: a large device can hold many.
std::size_t CudaDevice::capacity() const {
  return std::clamp<std::size_t>(facts_.memory_bytes / kMemoryPerExecutor, 3, 8);
}

Result<void> CudaDevice::replenish(std::size_t min, std::size_t target) {
  return executors_.replenish(min, std::min(target, capacity()));
}

Task<Result<void>> CudaDevice::check_health() {
  auto executor = CO_TRY(co_await executors_.take());
  auto loaded = CO_TRY(co_await executor->load(tools_, tools_, tools_));
  if (!loaded.answer.ok) {
    co_return fail(ErrorCode::device_failed,
                   "no program loads after a crash: " + loaded.answer.problem() + loaded.report);
  }
  CO_TRY(co_await executor->canary());
  executors_.trust_device();
  co_return Result<void>();
}

}  // namespace specgen
