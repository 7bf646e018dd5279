#include "evaluate/cuda/judge_gpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "evaluate/cuda/judge_kernels.h"
#include "evaluate/task/data_cuda_source.h"

namespace specgen {
namespace {

constexpr std::size_t kResultBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxExpectations = std::size_t{4}
                                         << 30;  // and no more than a part of the memory
constexpr std::size_t kShareOfExpectations = 16;

static_assert(kCompareThreads == kJudgeBlock);

unsigned one_thread_each(std::int64_t elements) {
  std::int64_t blocks = (elements + kJudgeBlock - 1) / kJudgeBlock;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(blocks, 1, std::numeric_limits<int>::max()));
}

}  // namespace

Result<std::shared_ptr<JudgeGpu>> JudgeGpu::open(const CudaDriver& driver, CudaDeviceFacts device,
                                                 const JudgeBinaries& binaries) {
  auto self = std::shared_ptr<JudgeGpu>(new JudgeGpu(driver, std::move(device)));
  int handle = self->device_.handle;
  // Our thread may sleep while the GPU works: nothing is timed from here. An existing context may
  // refuse to change; then we spin.
  driver.primary_set_flags(handle, kCuScheduleBlocking);
  TRY(driver.check(driver.primary_retain(&self->context_, handle), "cuDevicePrimaryCtxRetain"));
  TRY(self->enter());
  TRY(driver.check(driver.stream_create(&self->stream_, kCuStreamNonBlocking), "cuStreamCreate"));
  CuModule inputs = TRY(self->load(binaries.inputs));
  CuModule judge = TRY(self->load(binaries.judge));
  self->fill_ = TRY(self->function(inputs, "specgen_fill"));
  self->poison_ = TRY(self->function(inputs, "specgen_poison"));
  self->compare_ = TRY(self->function(inputs, "specgen_compare"));
  self->compare_baseline_ = TRY(self->function(inputs, "specgen_compare_baseline"));
  self->digest_ = TRY(self->function(judge, "specgen_digest"));
  self->fill_slack_ = TRY(self->function(judge, "specgen_fill_slack"));
  self->check_slack_ = TRY(self->function(judge, "specgen_check_slack"));
  self->results_.emplace(TRY(DeviceBuffer::create(driver, self->device_, kResultBytes)));
  self->expectations_.emplace(
      driver, self->device_, self->stream_,
      std::min(kMaxExpectations, self->device_.memory_bytes / kShareOfExpectations));
  return self;
}

JudgeGpu::~JudgeGpu() {
  if (!context_) return;
  driver_.ctx_set_current(context_);
  results_.reset();
  expectations_.reset();
  for (CuModule module : modules_) driver_.module_unload(module);
  if (stream_) driver_.stream_destroy(stream_);
  driver_.ctx_set_current(nullptr);
  driver_.primary_release(device_.handle);
}

Result<void> JudgeGpu::enter() {
  return driver_.check(driver_.ctx_set_current(context_), "cuCtxSetCurrent");
}

Result<std::size_t> JudgeGpu::free_bytes() {
  std::size_t free = 0, total = 0;
  TRY(driver_.check(driver_.mem_get_info(&free, &total), "cuMemGetInfo"));
  return free;
}

Result<CuModule> JudgeGpu::load(const std::string& binary) {
  CuModule module = nullptr;
  TRY(driver_.check(driver_.module_load_data(&module, binary.data()),
                    "cuModuleLoadData of the judge's kernels"));
  modules_.push_back(module);
  return module;
}

Result<CuFunction> JudgeGpu::function(CuModule module, const char* name) {
  CuFunction found = nullptr;
  TRY(driver_.check(driver_.module_get_function(&found, module, name), name));
  return found;
}

Result<void> JudgeGpu::launch_with(CuFunction kernel, unsigned grid, unsigned block,
                                   void** parameters) {
  CuLaunchConfig config{.grid = {grid, 1, 1}, .block = {block, 1, 1}, .stream = stream_};
  return driver_.check(driver_.launch_kernel_ex(&config, kernel, parameters, nullptr),
                       "launch of a judge's kernel");
}

unsigned JudgeGpu::blocks_for(std::int64_t elements) const {
  auto max_blocks = static_cast<unsigned>(8 * device_.multiprocessors);
  return std::min(one_thread_each(elements), max_blocks);
}

Result<void> JudgeGpu::fill(CuAddress tensor, Dtype dtype, std::int64_t elements,
                            const Distribution& distribution, std::uint64_t seed) {
  return launch(fill_, one_thread_each(elements), kJudgeBlock, tensor, static_cast<int>(dtype),
                static_cast<long long>(elements), static_cast<int>(distribution.kind),
                distribution.a, distribution.b, seed);
}

Result<void> JudgeGpu::poison(CuAddress tensor, Dtype dtype, std::int64_t elements,
                              std::uint64_t secret) {
  if (elements == 0) return {};
  return launch(poison_, blocks_for(elements), kJudgeBlock, tensor, static_cast<int>(dtype),
                static_cast<long long>(elements), secret);
}

Result<void> JudgeGpu::fill_slack(const Region& region, std::uint64_t secret) {
  if (region.size == region.bytes) return {};
  auto slack = static_cast<std::int64_t>(region.size - region.bytes);
  return launch(fill_slack_, blocks_for(slack), kJudgeBlock, region.memory,
                static_cast<long long>(region.size), static_cast<long long>(region.offset),
                static_cast<long long>(region.bytes), secret);
}

Result<void> JudgeGpu::copy(CuAddress to, CuAddress from, std::size_t bytes) {
  return driver_.check(driver_.memcpy_dtod(to, from, bytes, stream_), "cuMemcpyDtoD");
}

Result<void> JudgeGpu::finish() {
  return driver_.check(driver_.stream_synchronize(stream_), "cuStreamSynchronize of the judge");
}

Result<void> JudgeGpu::upload(CuAddress to, std::span<const std::byte> from) {
  TRY(driver_.check(driver_.memcpy_htod(to, from.data(), from.size(), stream_), "cuMemcpyHtoD"));
  return finish();
}

Result<void> JudgeGpu::download(std::span<std::byte> into, CuAddress from) {
  TRY(driver_.check(driver_.memcpy_dtoh(into.data(), from, into.size(), stream_), "cuMemcpyDtoH"));
  return finish();
}

Result<std::uint64_t> JudgeGpu::changed_slack(std::span<const Region> regions,
                                              std::uint64_t secret) {
  std::array<std::uint64_t, 2> changed{};  // how many, and the first of them
  CuAddress result = results_->address();
  TRY(driver_.check(driver_.memset_d8_async(result, 0, 8, stream_), "cuMemsetD8"));
  TRY(driver_.check(driver_.memset_d8_async(result + 8, 0xff, 8, stream_), "cuMemsetD8"));
  for (const Region& region : regions) {
    if (region.size == region.bytes) continue;
    auto slack = static_cast<std::int64_t>(region.size - region.bytes);
    TRY(launch(check_slack_, blocks_for(slack), kJudgeBlock, region.memory,
               static_cast<long long>(region.size), static_cast<long long>(region.offset),
               static_cast<long long>(region.bytes), secret, result));
  }
  TRY(download(std::as_writable_bytes(std::span(changed)), result));
  return changed[0];
}

Result<std::uint64_t> JudgeGpu::digest(CuAddress bytes, std::size_t count) {
  unsigned blocks = blocks_for(static_cast<std::int64_t>(count / 8 + 1));
  CuAddress result = results_->address();
  TRY(launch(digest_, blocks, kJudgeBlock, bytes, static_cast<long long>(count), result));
  std::vector<std::uint64_t> sums(blocks);
  TRY(download(std::as_writable_bytes(std::span(sums)), result));
  std::uint64_t sum = 0;
  for (std::uint64_t part : sums) sum += part;
  return sum;
}

Result<OutputReport> JudgeGpu::merge_blocks(unsigned blocks) {
  static_assert(sizeof(OutputReport) == 88, "the layout that the kernels write");
  std::vector<OutputReport> parts(blocks);
  TRY(download(std::as_writable_bytes(std::span(parts)), results_->address()));
  OutputReport all;
  for (const OutputReport& part : parts) merge(all, part);
  return all;
}

Result<OutputReport> JudgeGpu::compare(CuAddress got, const Tensor& tensor,
                                       const Expected& expected, const Tolerance& tolerance,
                                       Poison poison) {
  std::size_t count = expected.value.size();
  SG_ASSERT(expected.scale.size() == count, "a scale for every value");
  SG_ASSERT(expected.at.empty() || expected.at.size() == count, "an index for every value");
  SG_ASSERT(
      !expected.at.empty() || expected.first + static_cast<std::int64_t>(count) <= tensor.elements,
      "a part of the tensor");
  for (std::int64_t at : expected.at) SG_ASSERT(at >= 0 && at < tensor.elements, "an element");
  if (count == 0) return OutputReport{};
  return compare_with(got, tensor, TRY(expectations_->put(expected)), tolerance, poison);
}

Result<std::optional<OutputReport>> JudgeGpu::compare_known(CuAddress got, const Tensor& tensor,
                                                            std::uint64_t key,
                                                            const Tolerance& tolerance,
                                                            Poison poison) {
  const ExpectationStore::Kept* kept = expectations_->find(key);
  if (!kept) return std::nullopt;
  return TRY(compare_with(got, tensor, *kept, tolerance, poison));
}

Result<OutputReport> JudgeGpu::compare_with(CuAddress got, const Tensor& tensor,
                                            const ExpectationStore::Kept& expected,
                                            const Tolerance& tolerance, Poison poison) {
  unsigned blocks = blocks_for(expected.count);
  Bounds bounds = bounds_of(tolerance, tensor.dtype);
  TRY(launch(compare_, blocks, kCompareThreads, got, static_cast<int>(tensor.dtype),
             expected.indices, static_cast<long long>(expected.first),
             static_cast<long long>(expected.count), expected.values, expected.scales,
             bounds.scale_factor, bounds.value_factor, bounds.floor, bounds.overflow, poison.secret,
             results_->address()));
  return merge_blocks(blocks);
}

Result<OutputReport> JudgeGpu::compare_with_baseline(CuAddress got, CuAddress baseline,
                                                     const Tensor& tensor, double scale,
                                                     const Tolerance& tolerance, Poison poison) {
  unsigned blocks = blocks_for(tensor.elements);
  Bounds bounds = baseline_bounds_of(tolerance, tensor.dtype);
  TRY(launch(compare_baseline_, blocks, kCompareThreads, got, baseline,
             static_cast<int>(tensor.dtype), 0LL, static_cast<long long>(tensor.elements), scale,
             bounds.scale_factor, bounds.value_factor, bounds.floor, bounds.overflow, poison.secret,
             results_->address()));
  return merge_blocks(blocks);
}

}  // namespace specgen
