#pragma once
// The judge's own context on a GPU, with the judge's kernels. No code of a candidate ever runs in
// it. Everything here blocks and makes the context current for the calling thread: call it on the
// device's WorkerThread.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "evaluate/cuda/device_memory.h"
#include "evaluate/cuda/expectation_store.h"
#include "evaluate/judge/compare.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

struct JudgeBinaries {
  std::string inputs;  // kInputKernelSource
  std::string judge;   // kJudgeKernelSource
};

class JudgeGpu {
 public:
  static Result<std::shared_ptr<JudgeGpu>> open(const CudaDriver& driver, CudaDeviceFacts device,
                                                const JudgeBinaries& binaries);
  ~JudgeGpu();
  JudgeGpu(const JudgeGpu&) = delete;
  JudgeGpu& operator=(const JudgeGpu&) = delete;

  const CudaDriver& driver() const { return driver_; }
  const CudaDeviceFacts& device() const { return device_; }
  CuStream stream() const { return stream_; }
  Result<void> enter();  // makes our context current for this thread
  Result<std::size_t> free_bytes();

  // A mapping, and the position of a tensor in it.
  struct Region {
    CuAddress memory = 0;
    std::size_t size = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    CuAddress tensor() const { return memory + offset; }
  };

  // These are queued; finish() waits for them.
  Result<void> fill(CuAddress tensor, Dtype dtype, std::int64_t elements,
                    const Distribution& distribution, std::uint64_t seed);
  Result<void> poison(CuAddress tensor, Dtype dtype, std::int64_t elements, std::uint64_t secret);
  Result<void> fill_slack(const Region& region, std::uint64_t secret);
  Result<void> copy(CuAddress to, CuAddress from, std::size_t bytes);
  Result<void> finish();

  // These wait.
  Result<void> upload(CuAddress to, std::span<const std::byte> from);
  Result<void> download(std::span<std::byte> into, CuAddress from);
  // The number of changed bytes around the tensors, of all regions together.
  Result<std::uint64_t> changed_slack(std::span<const Region> regions, std::uint64_t secret);
  Result<std::uint64_t> digest(CuAddress bytes, std::size_t count);
  // An expectation with a key stays on the device for compare_known().
  Result<OutputReport> compare(CuAddress got, const Tensor& tensor, const Expected& expected,
                               const Tolerance& tolerance, Poison poison);
  // Nothing: the expectation with that key is not stored.
  Result<std::optional<OutputReport>> compare_known(CuAddress got, const Tensor& tensor,
                                                    std::uint64_t key, const Tolerance& tolerance,
                                                    Poison poison);
  Result<OutputReport> compare_with_baseline(CuAddress got, CuAddress baseline,
                                             const Tensor& tensor, double scale,
                                             const Tolerance& tolerance, Poison poison);

  // A module of ours, for ceilings. Stays loaded.
  Result<CuModule> load(const std::string& binary);
  Result<CuFunction> function(CuModule module, const char* name);
  template <class... Parameters>
  Result<void> launch(CuFunction kernel, unsigned grid, unsigned block, Parameters... parameters) {
    std::array<void*, sizeof...(parameters)> pointers{&parameters...};
    return launch_with(kernel, grid, block, pointers.data());
  }

 private:
  JudgeGpu(const CudaDriver& driver, CudaDeviceFacts device)
      : driver_(driver), device_(std::move(device)) {}
  Result<void> launch_with(CuFunction kernel, unsigned grid, unsigned block, void** parameters);
  Result<OutputReport> merge_blocks(unsigned blocks);
  unsigned blocks_for(std::int64_t elements) const;  // enough to fill the device, none without work
  Result<OutputReport> compare_with(CuAddress got, const Tensor& tensor,
                                    const ExpectationStore::Kept& expected,
                                    const Tolerance& tolerance, Poison poison);

  const CudaDriver& driver_;
  CudaDeviceFacts device_;
  CuContext context_ = nullptr;
  CuStream stream_ = nullptr;
  std::vector<CuModule> modules_;
  CuFunction fill_ = nullptr;
  CuFunction poison_ = nullptr;
  CuFunction compare_ = nullptr;
  CuFunction compare_baseline_ = nullptr;
  CuFunction digest_ = nullptr;
  CuFunction fill_slack_ = nullptr;
  CuFunction check_slack_ = nullptr;
  std::optional<DeviceBuffer> results_;  // of reducing kernels
  std::optional<ExpectationStore> expectations_;
};

}  // namespace specgen
