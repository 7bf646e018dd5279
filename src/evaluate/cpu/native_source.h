#pragma once
// Inputs and expected outputs of a native task. Inputs are drawn by data.h. Expected outputs are
// computed by reference.cc, which is compiled once (cached between runs) and runs in sandboxed
// processes of its own, on any core. A large case is divided among several.

#include <memory>

#include "evaluate/cpu/cpu_executor.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/judge/judge_context.h"

namespace specgen {

// The time limit of a reference, from the work that the task declares for the case.
Duration reference_limit(const Case& at);

class NativeSource final : public InputSource {
 public:
  // bad_task if reference.cc does not compile or has no function `reference`. The task outlives it.
  static Task<Result<std::unique_ptr<NativeSource>>> open(JudgeContext& context,
                                                          const KernelTask& task);

  Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at,
                                                         std::uint64_t seed) override;
  Task<Result<void>> draw_to(const Case& at, std::uint64_t seed,
                             std::vector<std::span<std::byte>> into) override;
  Task<Result<std::vector<Expected>>> expect(const Case& at, std::uint64_t seed,
                                             std::size_t samples) override;
  Tolerance tolerance(const Case& at, const Tensor& output) const override;
  bool is_generated() const override { return true; }
  bool is_baseline() const override { return false; }
  Task<Result<EagerRun>> run_baseline(const Case& at, std::uint64_t seed) override;

 private:
  NativeSource(JudgeContext& context, const KernelTask& task) : context_(context), task_(task) {}

  Task<Result<void>> add_executor();
  using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
  // The ranges of the first output's elements that each executor computes.
  std::vector<Ranges> divide(const Case& at, const std::vector<std::int64_t>& samples) const;
  Task<Result<void>> compute(const Case& at, std::size_t executor, const CpuLayout& layout,
                             std::vector<int> files, Ranges ranges);

  JudgeContext& context_;
  const KernelTask& task_;
  std::string binary_;  // of the reference
  std::vector<std::unique_ptr<CpuExecutor>> executors_;
};

}  // namespace specgen
