#pragma once
// The test rig of a CUDA candidate: memory that the judge owns and checks in its own context, and
// an executor process that has it mapped, inputs read-only. The executor serves one candidate;
// after a finding that is not ok it is killed.

#include <memory>
#include <string>
#include <vector>

#include "evaluate/cuda/executor.h"
#include "evaluate/cuda/gpu_watch.h"
#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/cuda/rig_memory.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/judge/test_rig.h"
#include "runtime/worker_thread.h"

namespace specgen {

class CudaTestRig final : public TestRig {
 public:
  // Everything referred to must outlive the rig.
  struct Context {
    Loop& loop;
    WorkerThread& worker;
    std::shared_ptr<JudgeGpu> gpu;
    ExecutorPool& executors;
    const GpuWatch& watch;
    const std::string& tools;  // kExecutorKernelSource, compiled
    LaunchLimits limits;
  };
  CudaTestRig(Context context, std::unique_ptr<Executor> executor, Program candidate,
              Program baseline, InputSource& source, TestRigLimits limits);

  Task<Result<Finding>> lay_out(const KernelTask& task, Case at, std::vector<SetInput> seeds,
                                Placement placement, Called called) override;
  Task<Result<void>> refresh(std::vector<SetInput> seeds) override;
  Task<Result<Finding>> call(Who who, std::size_t set) override;
  Task<Result<std::vector<OutputReport>>> compare_outputs(
      std::size_t set, const std::vector<Expected>& expected,
      const std::vector<Tolerance>& tolerances) override;
  Task<Result<std::uint64_t>> digest(std::size_t set) override;
  Task<Result<Round>> time_round(const std::vector<double>& scales,
                                 const std::vector<Tolerance>& tolerances) override;
  Breakdown breakdown() const override { return spent_; }

 private:
  const Program& program(Who who) const { return programs_[static_cast<std::size_t>(who)]; }
  // Whether the executor runs it; else the source does, in a process of its own.
  bool runs_here(Who who) const { return who == Who::candidate || !source_.is_baseline(); }
  Task<Result<Finding>> load();
  RigMemory::Request memory_request(std::size_t sets, Placement placement);
  Task<Result<Finding>> make_memory(RigMemory::Request request);
  Task<Result<void>> draw_on_device();
  Task<Result<Finding>> lay_out_memory(std::vector<SetInput> seeds, Placement placement);
  Task<Result<Finding>> clear_memory(const RigMemory::Request& next);
  Task<Result<Finding>> give_memory(Executor& executor, bool inputs_writable);
  // The meaning of an executor's reply; an Error if the baseline or we are at fault.
  Result<Finding> judge_reply(Who who, const Executor::Reply& reply, Duration limit);
  Task<Result<double>> run_source(std::size_t set, std::size_t cold_bytes);  // in ns
  Task<Result<Finding>> explain(Finding found, std::size_t set);
  Task<Result<Finding>> check_for_written_input(std::size_t set);
  Task<Result<Finding>> time_batch(Who who, std::uint64_t secret, std::vector<double>& ns,
                                   GpuPace& pace);
  Finding in_this_case(Finding found) const;
  Result<void> require_executor() const;
  Result<void> require_layout() const;

  Context context_;
  std::unique_ptr<Executor> executor_;  // null after it has ended
  std::array<Program, kPrograms> programs_;
  InputSource& source_;
  TestRigLimits limits_;
  bool loaded_ = false;

  Case case_;
  const KernelTask* task_ = nullptr;  // of the current case; owned by the caller
  std::array<LaunchPlan, kPrograms> plans_;
  std::shared_ptr<RigMemory> memory_;
  std::vector<SetInput> seeds_;           // of the inputs of every set
  std::vector<std::uint64_t> poison_of_;  // per set: the secret of its last poisoning
  std::array<double, kPrograms> max_call_ns_{};
  std::uint64_t rounds_ = 0;
  Breakdown spent_;
};

}  // namespace specgen
