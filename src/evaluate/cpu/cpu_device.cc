#include "evaluate/cpu/cpu_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"
#include "evaluate/cpu/cpu_ceilings.h"
#include "evaluate/cpu/cpu_facts.h"
#include "evaluate/cpu/cpu_test_rig.h"
#include "evaluate/host/machine.h"
#include "evaluate/task/cases.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxCores = 64;
constexpr int kMaxNumber = 1 << 20;  // of a core
constexpr std::size_t kMinSets = 4;
constexpr std::size_t kMaxSets = 16;
constexpr Bytes kMaxKept = MiB(256);   // of reused memory for tensors
constexpr Bytes kMaxAhead = MiB(128);  // of memory allocated for the next candidate
constexpr std::uint64_t kMaxRotation = std::uint64_t{1} << 30;

std::optional<int> number(std::string_view text) {
  int value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMaxNumber) {
    return std::nullopt;
  }
  return value;
}

// A core's own cache: the data of the last call must not be in it.
std::uint64_t private_cache() {
  long size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return size > 0 ? static_cast<std::uint64_t>(size) : std::uint64_t{2} << 20;
}

}  // namespace

Result<std::vector<int>> cores_of_device(std::string_view id, const std::vector<int>& allowed) {
  std::string_view which = id.substr(std::min<std::size_t>(id.size(), 4));
  if (which == "0") {
    std::vector<int> cores(allowed.begin() + (allowed.size() > 1 ? 1 : 0), allowed.end());
    if (cores.size() > kMaxCores) cores.resize(kMaxCores);
    return cores;
  }
  std::size_t dash = which.find('-');
  auto first = number(which.substr(0, dash));
  auto last = dash == std::string_view::npos ? std::nullopt : number(which.substr(dash + 1));
  std::vector<int> cores;
  if (first && last && *last - *first < static_cast<int>(kMaxCores)) {
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
  }
  bool ours = !cores.empty() && std::ranges::all_of(cores, [&](int core) {
    return std::ranges::find(allowed, core) != allowed.end();
  });
  if (ours) return cores;
  return fail(ErrorCode::device_missing,
              fmt::format("'{}' on cores {}", id, fmt::join(allowed, ", ")),
              "use cpu:0 for all cores but the first, or cpu:A-B for cores A to B");
}

Result<std::unique_ptr<CpuDevice>> CpuDevice::open(JudgeContext& context, std::string id) {
  std::vector<int> cores = TRY(cores_of_device(id, allowed_cores()));
  return std::unique_ptr<CpuDevice>(new CpuDevice(context, std::move(id), std::move(cores)));
}

CpuDevice::CpuDevice(JudgeContext& context, std::string id, std::vector<int> cores)
    : context_(context),
      cores_(std::move(cores)),
      toolchain_(context),
      executors_(context, cores_),
      used_files_(kMaxKept, fresh_secret().words[0]),
      fresh_files_(kConfirmations, kMaxAhead) {
  info_ = {.id = std::move(id),
           .name = fmt::format("{}, {} core{}", cpu_model(), cores_.size(),
                               cores_.size() == 1 ? "" : "s"),
           .backend = Backend::cpu,
           .lock_names = {},
           .judge_cores = allowed_cores(),
           .confirmations = kConfirmations};
  for (int core : cores_) info_.lock_names.push_back(fmt::format("core-{}", core));
  std::vector<int> others = info_.judge_cores;
  std::erase_if(others, [&](int core) { return std::ranges::find(cores_, core) != cores_.end(); });
  if (!others.empty()) info_.judge_cores = std::move(others);
}

Task<Result<std::unique_ptr<TestRig>>> CpuDevice::open_rig(const KernelTask& task,
                                                           const Program& candidate,
                                                           const Program& baseline,
                                                           InputSource& source,
                                                           TestRigLimits limits) {
  auto executor_of = [&](const Program& program, Finding& refused) {
    return executors_.take({.entry = task.name, .binary = program.binary, .strict = true}, refused);
  };
  Finding refused;
  CpuTestRig::Parts parts{candidate, baseline, nullptr, nullptr};
  parts.candidate_executor = CO_TRY(co_await executor_of(candidate, refused));
  if (!source.is_baseline()) {
    parts.baseline_executor = CO_TRY(co_await executor_of(baseline, refused));
  }
  if (!refused.ok()) {
    // The static gate accepts only what loads, so this is a fault of the host.
    co_return fail(ErrorCode::harness_failed, refused.evidence.text);
  }
  TensorFiles* files = &used_files_;
  if (limits.fresh_memory) {
    fresh_files_.begin_process();
    files = &fresh_files_;
  }
  co_return std::make_unique<CpuTestRig>(context_.loop, *files, source, std::move(parts),
                                         cores_.size(), limits, fresh_secret(), no_counters_);
}

// Two for every rig: the candidate's and the baseline's.
Result<void> CpuDevice::replenish(std::size_t min, std::size_t target) {
  return executors_.replenish(2 * min, 2 * target);
}

Task<Result<void>> CpuDevice::settle() {
  co_await executors_.settle();
  co_return Result<void>();
}

Task<Result<Ceilings>> CpuDevice::measure_ceilings() {
  co_return measure_cpu_ceilings(cores_);
}

std::size_t CpuDevice::sets_for(Bytes footprint) const {
  std::uint64_t bytes = std::max<std::uint64_t>(footprint.count, 1);
  std::uint64_t cold = 4 * private_cache() / bytes + 1;
  std::uint64_t fits = std::max<std::uint64_t>(kMaxRotation / bytes, 2);
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(std::min(cold, fits), kMinSets, kMaxSets));
}

Task<Result<Json>> CpuDevice::facts(const KernelTask& task, const Program& program, const Case&) {
  auto remarks = vector_remarks(program.remarks, "candidate.cc");
  std::optional<InstructionMix> mix;
  if (auto listing = co_await disassemble(context_.processes, program.binary)) {
    if (auto found = hot_loop_mix(*listing, task.name)) mix = std::move(*found);
  }
  co_return cpu_facts_json(remarks, mix);
}

Task<Result<void>> CpuDevice::check_health() {
  co_return Result<void>();  // a core that fails takes the judge with it
}

}  // namespace specgen
