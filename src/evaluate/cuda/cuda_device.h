#pragma once
// A GPU as a device: cuda:0 is the driver's first. Owns the judge's context on it, a thread for
// blocking calls, warm executors and warm compilers. One per device and process.
//
//   auto device = CO_TRY(co_await CudaDevice::find(loop, driver, processes, {.index = 0, ...}));
//   CO_TRY(device->ready_pool().replenish(2, 2));      // when nothing is being timed
//
// device_missing (exit code 3) if there is no GPU or no driver.

#include <memory>
#include <string>
#include <vector>

#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cuda/executor.h"
#include "evaluate/cuda/gpu_watch.h"
#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/cuda/toolchain.h"
#include "evaluate/judge/device.h"
#include "runtime/worker_thread.h"

namespace specgen {

struct CudaSettings {
  int index = 0;
  std::vector<std::string> self = {"/proc/self/exe"};
  WrapCommand wrap = unsandboxed();
  std::vector<std::string> allowed_folders = {};  // that sources may include from
  std::size_t warm_compilers = 2;
  bool counters = false;  // facts() also reads hardware counters, which takes two seconds
  std::string ncu = "ncu";
};

class CudaDevice final : public Device, private ReadyPool {
 public:
  static Task<Result<std::unique_ptr<CudaDevice>>> find(Loop& loop, RealDriver& driver,
                                                        Processes& processes,
                                                        CudaSettings settings);

  const DeviceInfo& info() const override { return info_; }
  Toolchain& toolchain() override { return toolchain_; }
  Task<Result<std::unique_ptr<TestRig>>> open_rig(const KernelTask& task, const Program& candidate,
                                                  const Program& baseline, InputSource& source,
                                                  TestRigLimits limits) override;
  Task<Result<Ceilings>> measure_ceilings() override;
  std::size_t sets_for(Bytes footprint) const override;
  Task<Result<Json>> facts(const KernelTask& task, const Program& program, const Case& at) override;
  Task<Result<void>> check_health() override;
  ReadyPool& ready_pool() override { return *this; }

  const CudaDeviceFacts& device_facts() const { return facts_; }
  LaunchLimits launch_limits() const;
  // Why executors run outside the sandbox; usually empty.
  const std::string& note() const { return executors_.note(); }
  // For tests.
  const std::shared_ptr<JudgeGpu>& judge() { return gpu_; }
  bool is_in_doubt() const { return executors_.is_device_in_doubt(); }

 private:
  CudaDevice(Loop& loop, RealDriver& driver, Processes& processes, CudaSettings settings,
             CudaDeviceFacts facts);
  Task<Result<std::vector<KernelDescription>>> describe(const Program& program,
                                                        const LaunchPlan& plan,
                                                        const std::vector<std::string>& functions);
  std::size_t capacity() const override;
  std::size_t size() const override { return executors_.warm(); }
  Result<void> replenish(std::size_t min, std::size_t target) override;
  Task<Result<void>> settle() override { return executors_.settle(); }

  Loop& loop_;
  Processes& processes_;
  CudaSettings settings_;
  CudaDeviceFacts facts_;
  DeviceInfo info_;
  CudaToolchain toolchain_;
  ExecutorPool executors_;
  GpuWatch watch_;
  std::unique_ptr<Executor> describer_;  // loads programs and runs none
  std::string tools_;                    // kExecutorKernelSource, compiled
  std::string inputs_binary_;            // kInputKernelSource, compiled
  std::shared_ptr<JudgeGpu> gpu_;
  WorkerThread worker_;  // last: its jobs use the members above
};

}  // namespace specgen
