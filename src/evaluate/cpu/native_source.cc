#include "evaluate/cpu/native_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "evaluate/cpu/cpu_compile.h"
#include "evaluate/cpu/cpu_toolchain.h"
#include "evaluate/task/data.h"
#include "runtime/stopwatch.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxExecutors = 8;
// In bytes and flops: takes about as long as starting an executor.
constexpr double kWorkPerExecutor = 1e8;

std::span<double> doubles_in(const SharedFile& file) {
  return {reinterpret_cast<double*>(file.bytes().data()), file.bytes().size() / sizeof(double)};
}

}  // namespace

// Generous for plain code in fp64 on a busy machine; a reference that never ends is found on the
// first small case.
Duration reference_limit(const Case& at) {
  constexpr double kMinSeconds = 10, kMaxSeconds = 120, kPerSecond = 2e7;  // bytes, flops
  return from_seconds(
      std::min(kMinSeconds + (at.min_flops + at.min_bytes) / kPerSecond, kMaxSeconds));
}

Task<Result<std::unique_ptr<NativeSource>>> NativeSource::open(JudgeContext& context,
                                                               const KernelTask& task) {
  std::string name = (task.folder / "reference.cc").string();
  CpuObject object = CO_TRY(co_await compile_cpu(
      context, {.prelude = "#include <cmath>\n#include <cstdint>\n",
                .text = task.reference_source,
                .name = name,
                .flags = {"-O3", "-std=c++20", "-march=native", "-ffp-contract=off"},
                .keep = true}));
  if (!object.ok) {
    co_return fail(ErrorCode::bad_task,
                   fmt::format("{} does not compile:\n{}", name, shortened_log(object.log, 10)));
  }
  std::unique_ptr<NativeSource> source(new NativeSource(context, task));
  source->binary_ = std::move(object.binary);
  CO_TRY(co_await source->add_executor());
  co_return source;
}

Task<Result<void>> NativeSource::add_executor() {
  auto executor = CO_TRY(CpuExecutor::start(context_, {}));
  Finding finding;
  CO_TRY(
      co_await executor->load({.entry = "reference", .binary = binary_, .strict = false}, finding));
  if (!finding.ok()) {
    co_return fail(ErrorCode::bad_task, fmt::format("{}/reference.cc: {}", task_.folder.string(),
                                                    finding.evidence.text));
  }
  executors_.push_back(std::move(executor));
  co_return Result<void>();
}

std::vector<NativeSource::Ranges> NativeSource::divide(
    const Case& at, const std::vector<std::int64_t>& samples) const {
  if (!samples.empty()) {
    Ranges ranges;
    for (std::int64_t index : samples) ranges.emplace_back(index, index + 1);
    return {std::move(ranges)};
  }
  const std::int64_t elements = at.outputs.front().elements;
  const auto cores = static_cast<double>(std::min(allowed_cores().size(), kMaxExecutors));
  const double wanted = std::min(cores, (at.min_flops + at.min_bytes) / kWorkPerExecutor);
  const auto parts = std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{1}, elements);
  std::vector<Ranges> all;
  for (std::int64_t i = 0; i < parts; ++i) {
    all.push_back({{elements * i / parts, elements * (i + 1) / parts}});
  }
  return all;
}

Task<Result<void>> NativeSource::compute(const Case& at, std::size_t executor,
                                         const CpuLayout& layout, std::vector<int> files,
                                         Ranges ranges) {
  Finding finding = CO_TRY(co_await executors_[executor]->run_ranges(
      layout, std::move(files), std::move(ranges), reference_limit(at)));
  if (finding.ok()) co_return Result<void>();
  co_return fail(ErrorCode::bad_task,
                 fmt::format("{}: reference.cc on {}: {}", task_.folder.string(), at.title(),
                             finding.evidence.text));
}

Task<Result<std::vector<std::vector<std::byte>>>> NativeSource::draw(const Case& at,
                                                                     std::uint64_t seed) {
  std::vector<std::vector<std::byte>> all;
  for (const Tensor& input : at.inputs) all.emplace_back(input.bytes());
  CO_TRY(co_await draw_to(at, seed, {all.begin(), all.end()}));
  co_return all;
}

Task<Result<void>> NativeSource::draw_to(const Case& at, std::uint64_t seed,
                                         std::vector<std::span<std::byte>> into) {
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    fill(into[i], at.inputs[i].dtype, distribution_of(task_, at, i), tensor_seed(seed, i));
  }
  co_return Result<void>();
}

Task<Result<std::vector<Expected>>> NativeSource::expect(const Case& at, std::uint64_t seed,
                                                         std::size_t samples) {
  auto inputs = CO_TRY(co_await draw(at, seed));
  std::vector<SharedFile> files;
  std::vector<MappedBuffer> buffers;
  auto add = [&](std::size_t elements, bool read_only) -> Result<void> {
    std::size_t bytes = round_up_to_pages(elements * sizeof(double));
    files.push_back(TRY(SharedFile::make("reference", bytes)));
    buffers.push_back({.file = files.size() - 1, .map_bytes = bytes, .read_only = read_only});
    return {};
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto elements = static_cast<std::size_t>(at.inputs[i].elements);
    CO_TRY(add(elements, true));
    to_doubles(at.inputs[i].dtype, inputs[i], doubles_in(files.back()).first(elements));
    inputs[i] = {};
    CO_TRY(files.back().seal());
  }
  for (const Tensor& output : at.outputs) {
    CO_TRY(add(static_cast<std::size_t>(output.elements), false));
    CO_TRY(add(static_cast<std::size_t>(output.elements), false));
  }
  CpuLayout layout;
  layout.sets.push_back(buffers);
  layout.with_threads = false;
  for (const AxisSpec& axis : task_.axes) layout.integers.push_back(at.axes.at(axis.name));
  for (const ScalarSpec& scalar : task_.scalars) layout.reals.push_back(scalar.value);

  std::vector<std::int64_t> sampled;
  if (samples > 0) {
    sampled = sample_of(at.outputs.front().elements, samples, tensor_seed(seed, 1000));
  }
  std::vector<int> descriptors;
  for (const SharedFile& file : files) descriptors.push_back(file.fd());
  std::vector<Ranges> shares = divide(at, sampled);
  while (executors_.size() < shares.size()) CO_TRY(co_await add_executor());
  TaskGroup computing(context_.loop);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    computing.spawn(compute(at, i, layout, descriptors, std::move(shares[i])));
  }
  CO_TRY(co_await computing.join());
  std::vector<Expected> all;
  for (std::size_t i = 0; i < at.outputs.size(); ++i) {
    std::span<double> values = doubles_in(files[inputs.size() + 2 * i]);
    std::span<double> scales = doubles_in(files[inputs.size() + 2 * i + 1]);
    auto elements = static_cast<std::size_t>(at.outputs[i].elements);
    Expected& expected = all.emplace_back();
    if (sampled.empty()) {
      expected.value.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(elements));
      expected.scale.assign(scales.begin(), scales.begin() + static_cast<std::ptrdiff_t>(elements));
      continue;
    }
    expected.at = sampled;
    for (std::int64_t index : sampled) {
      expected.value.push_back(values[static_cast<std::size_t>(index)]);
      expected.scale.push_back(scales[static_cast<std::size_t>(index)]);
    }
  }
  co_return all;
}

Tolerance NativeSource::tolerance(const Case& at, const Tensor& output) const {
  return tolerance_of(task_.check, at, output.dtype);
}

Task<Result<EagerRun>> NativeSource::run_baseline(const Case&, std::uint64_t) {
  SG_PANIC("a native task's baseline is a program");
}

}  // namespace specgen
