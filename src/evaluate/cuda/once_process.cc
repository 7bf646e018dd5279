// The kernels that fill the inputs run before the candidate's; the profiler skips them.

#include "evaluate/cuda/once_process.h"

#include <fmt/core.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "evaluate/cuda/counters.h"
#include "evaluate/cuda/executor_stream.h"
#include "evaluate/cuda/judge_gpu.h"
#include "evaluate/cuda/judge_kernels.h"

namespace specgen {
namespace {

// A piece for every tensor, imported like an executor's: by descriptors.
class OnceMemory {
 public:
  OnceMemory(const CudaDriver& driver, const CudaDeviceFacts& device)
      : driver_(driver), device_(device) {}

  Result<Place> add(std::size_t bytes, bool writable) {
    std::size_t size = round_up(std::max<std::size_t>(bytes, 1), device_.granularity);
    auto piece = DevicePiece::create(driver_, device_.handle, size);
    if (!piece) return std::unexpected(std::move(piece.error().error));
    descriptors_.push_back(TRY(piece->share()));
    request_.pieces.push_back({.bytes = size, .writable = writable});
    return Place{.piece = request_.pieces.size() - 1, .bytes = bytes};
  }
  Result<void> give_to(ExecutorMemory& memory) { return memory.import(request_, descriptors_); }

 private:
  const CudaDriver& driver_;
  const CudaDeviceFacts& device_;
  ImportRequest request_;
  std::vector<Fd> descriptors_;
};

Result<void> fill_inputs(const CudaDriver& driver, const OnceJob& job, const LayOutRequest& layout,
                         const ExecutorMemory& memory, CuStream stream) {
  CuModule module = nullptr;
  TRY(driver.check(driver.module_load_data(&module, job.inputs_binary.data()), "cuModuleLoadData"));
  CuFunction fill = nullptr;
  TRY(driver.check(driver.module_get_function(&fill, module, "specgen_fill"), "specgen_fill"));
  for (std::size_t i = 0; i < job.at.inputs.size(); ++i) {
    const Tensor& tensor = job.at.inputs[i];
    CuAddress address = TRY(memory.address_of(layout.tensors[0][i]));
    int dtype = static_cast<int>(tensor.dtype);
    long long elements = tensor.elements;
    int kind = static_cast<int>(job.distributions[i].kind);
    double a = job.distributions[i].a, b = job.distributions[i].b;
    std::uint64_t seed = job.seed + i;
    std::array<void*, 7> parameters{&address, &dtype, &elements, &kind, &a, &b, &seed};
    auto blocks = static_cast<unsigned>((elements + kJudgeBlock - 1) / kJudgeBlock);
    CuLaunchConfig config{
        .grid = {std::max(blocks, 1U), 1, 1}, .block = {kJudgeBlock, 1, 1}, .stream = stream};
    TRY(driver.check(driver.launch_kernel_ex(&config, fill, parameters.data(), nullptr),
                     "launch of specgen_fill"));
  }
  return driver.check(driver.stream_synchronize(stream), "cuStreamSynchronize");
}

Result<void> call_once(const std::filesystem::path& folder) {
  OnceJob job = TRY(read_once_job(folder));
  const CudaDriver& driver = *TRY(CudaDriver::load());
  CudaDeviceFacts device = TRY(ask_cuda_device(driver, job.device));
  CuContext context = nullptr;
  TRY(driver.check(driver.primary_retain(&context, device.handle), "cuDevicePrimaryCtxRetain"));
  TRY(driver.check(driver.ctx_set_current(context), "cuCtxSetCurrent"));
  auto stream = TRY(ExecutorStream::open(driver, device));
  ExecutorPrograms programs(driver);
  ExecutorAnswer loaded = programs.load({job.tools_binary, "", job.candidate_binary});
  if (!loaded.ok) return fail(ErrorCode::device_failed, loaded.problem());

  OnceMemory pieces(driver, device);
  LayOutRequest layout;
  std::vector<Place>& tensors = layout.tensors.emplace_back();
  // Inputs are writable: they are filled in this process.
  for (const Tensor& tensor : job.at.inputs)
    tensors.push_back(TRY(pieces.add(tensor.bytes(), true)));
  for (const Tensor& tensor : job.at.outputs) {
    tensors.push_back(TRY(pieces.add(tensor.bytes(), true)));
  }
  std::vector<Place> scratch;
  for (std::size_t bytes : job.plan.scratch_bytes) {
    scratch.push_back(TRY(pieces.add(bytes, true)));
  }
  layout.programs[static_cast<std::size_t>(Who::candidate)] = {
      .plan = compact_json(to_json(job.plan)), .functions = job.functions, .scratch = {scratch}};
  ExecutorMemory memory(driver, device);
  TRY(pieces.give_to(memory));
  TRY(fill_inputs(driver, job, layout, memory, stream->stream()));
  ExecutorAnswer laid_out = programs.lay_out(layout, memory, stream->stream());
  if (!laid_out.ok) return fail(ErrorCode::device_failed, laid_out.problem());
  ExecutorAnswer ran = stream->run({.who = Who::candidate, .set = 0}, programs);
  if (!ran.ok) return fail(ErrorCode::device_failed, ran.problem());
  ::_exit(0);  // without cleaning up
}

}  // namespace

int run_internal_cuda_executor_once(std::span<const std::string> arguments) {
  auto called = arguments.size() == 1
                    ? call_once(arguments.front())
                    : fail(ErrorCode::bad_usage, "internal-cuda-executor-once FOLDER");
  fmt::print(stderr, "{}\n", called ? "" : called.error().text());
  ::_exit(1);
}

}  // namespace specgen
