#pragma once
// A set of cores as a device: cpu:0 is every core that this process may use except the first, which
// is the judge's; cpu:2-5 is cores 2 to 5. One thread runs on each core.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/cpu/cpu_executor_pool.h"
#include "evaluate/cpu/cpu_toolchain.h"
#include "evaluate/cpu/fresh_files.h"
#include "evaluate/cpu/shared_file_pool.h"
#include "evaluate/judge/device.h"
#include "evaluate/judge/judge_context.h"

namespace specgen {

// device_missing if there are no such cores.
Result<std::vector<int>> cores_of_device(std::string_view id, const std::vector<int>& allowed);

class CpuDevice final : public Device, private ReadyPool {
 public:
  static Result<std::unique_ptr<CpuDevice>> open(JudgeContext& context, std::string id);

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

 private:
  static constexpr std::size_t kConfirmations = 3;
  static constexpr std::size_t kRigsOfOne = 1 + kConfirmations;
  CpuDevice(JudgeContext& context, std::string id, std::vector<int> cores);

  std::size_t capacity() const override { return kRigsOfOne; }
  std::size_t size() const override { return executors_.waiting() / 2; }
  bool can_start_while_compiling() const override { return true; }
  Result<void> replenish(std::size_t min, std::size_t target) override;
  bool prepare_memory() override { return fresh_files_.step(); }
  Task<Result<void>> settle() override;

  JudgeContext& context_;
  std::vector<int> cores_;
  DeviceInfo info_;
  CpuToolchain toolchain_;
  CpuExecutorPool executors_;
  SharedFilePool used_files_;
  FreshFiles fresh_files_;
  std::optional<Error> no_counters_;  // set once a rig has found that this machine has none
};

}  // namespace specgen
