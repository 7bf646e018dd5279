// CudaDevice::facts(): what is known of a program besides its timing.

#include <fmt/core.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "evaluate/cuda/counters.h"
#include "evaluate/cuda/cuda_device.h"
#include "evaluate/cuda/sass_mix.h"
#include "evaluate/host/tools.h"
#include "evaluate/judge/input_source.h"

namespace specgen {
namespace {

namespace json = boost::json;

constexpr Duration kDescribeLimit = std::chrono::seconds(30);

// With whichever of the toolkit's two disassemblers is installed.
Task<Result<std::string>> disassemble(Processes& processes, std::string binary) {
  std::filesystem::path tool = find_cuda_tool("cuobjdump");
  std::vector<std::string> argv{"-sass"};
  if (tool.empty()) {
    tool = find_cuda_tool("nvdisasm");
    argv = {"-c"};
  }
  if (tool.empty()) {
    co_return fail(ErrorCode::tool_missing, "neither cuobjdump nor nvdisasm is installed");
  }
  TemporaryFolder folder = CO_TRY(TemporaryFolder::make());
  std::filesystem::path file = folder.path() / "candidate.cubin";
  std::ofstream(file, std::ios::binary) << binary;
  argv.insert(argv.begin(), tool.string());
  argv.push_back(file.string());
  Finished finished = CO_TRY(co_await processes.run(
      {.argv = std::move(argv), .output_limit = MiB(64), .time_limit = std::chrono::seconds(20)}));
  if (!finished.exit.ok()) {
    co_return fail(ErrorCode::system_call, fmt::format("{}: {}", tool.filename().string(),
                                                       trim(first_line(finished.error_output))));
  }
  co_return std::move(finished.output);
}

unsigned long long volume(const std::array<unsigned, 3>& size) {
  return 1ULL * size[0] * size[1] * size[2];
}

std::string kernel_text(const KernelDescription& kernel, double occupancy, double waves) {
  std::string text = fmt::format("{}: {} registers, {:.0f} % occupancy, {:.3g} waves",
                                 kernel.function, kernel.registers, 100 * occupancy, waves);
  if (kernel.local_bytes > 0) {
    text += fmt::format(", {} bytes of local memory a thread", kernel.local_bytes);
  }
  return text + ".";
}

Task<Result<std::vector<KernelDescription>>> described_by(
    Executor& executor, const std::string& tools, const Program& program, const LaunchPlan& plan,
    const std::vector<std::string>& functions) {
  auto loaded = CO_TRY(co_await executor.load(tools, "", program.binary));
  if (!loaded.answer.ok) {
    co_return fail(ErrorCode::device_failed, loaded.answer.problem() + loaded.report);
  }
  DescribeRequest request{
      .who = Who::candidate, .plan = compact_json(to_json(plan)), .functions = functions};
  auto reply = CO_TRY(co_await executor.ask(std::move(request), kDescribeLimit));
  if (!reply.answer.ok || reply.answer.kernels.size() != plan.launches.size()) {
    co_return fail(ErrorCode::device_failed,
                   "the kernels could not be described: " + reply.answer.problem() + reply.report);
  }
  co_return std::move(reply.answer.kernels);
}

}  // namespace

// Only a context knows the resources of its kernels. One executor, which loads programs and never
// runs one, serves all candidates: a new one for each would take as long as the rest of this.
Task<Result<std::vector<KernelDescription>>> CudaDevice::describe(
    const Program& program, const LaunchPlan& plan, const std::vector<std::string>& functions) {
  // Taken out during the request: if this task is cancelled, its executor must not be used again.
  std::unique_ptr<Executor> executor = std::move(describer_);
  const bool is_fresh = !executor;
  if (is_fresh) executor = CO_TRY(co_await executors_.take());
  auto described = co_await described_by(*executor, tools_, program, plan, functions);
  if (described) {
    describer_ = std::move(executor);
    co_return described;
  }
  // A waiting executor may have ended; a new one shows whether the program is at fault.
  if (is_fresh) co_return described;
  executor.reset();
  co_return co_await describe(program, plan, functions);
}

Task<Result<Json>> CudaDevice::facts(const KernelTask& task, const Program& program,
                                     const Case& at) {
  auto plan = resolve(program.directives, task, at, program.tunables, launch_limits());
  if (!plan) co_return fail(ErrorCode::harness_failed, plan.error().reason);
  std::vector<std::string> functions;
  for (const PlannedLaunch& launch : plan->launches) {
    auto lowered = program.lowered_names.find(launch.name_expression);
    functions.push_back(lowered == program.lowered_names.end() ? launch.name_expression
                                                               : lowered->second);
  }
  auto described = CO_TRY(co_await describe(program, *plan, functions));

  json::array kernels;
  std::string text;
  for (std::size_t k = 0; k < described.size(); ++k) {
    const KernelDescription& kernel = described[k];
    const PlannedLaunch& launch = plan->launches[k];
    auto threads = static_cast<double>(volume(launch.block));
    double resident = kernel.blocks_per_multiprocessor;
    double occupancy = resident * threads / std::max(1, facts_.threads_per_multiprocessor);
    double waves = resident > 0 ? static_cast<double>(volume(launch.grid)) /
                                      (resident * facts_.multiprocessors)
                                : 0;
    kernels.push_back({{"name", kernel.function},
                       {"grid", json::array{launch.grid[0], launch.grid[1], launch.grid[2]}},
                       {"block", json::array{launch.block[0], launch.block[1], launch.block[2]}},
                       {"registers", kernel.registers},
                       {"static_shared_bytes", kernel.static_shared_bytes},
                       {"dynamic_shared_bytes", static_cast<std::int64_t>(launch.shared_bytes)},
                       {"local_bytes", kernel.local_bytes},
                       {"most_threads", kernel.max_threads},
                       {"blocks_per_multiprocessor", kernel.blocks_per_multiprocessor},
                       {"occupancy", finite_or_null(occupancy)},
                       {"waves", finite_or_null(waves)}});
    text += (text.empty() ? "" : "\n") + kernel_text(kernel, occupancy, waves);
  }

  json::object facts{{"kernels", std::move(kernels)}, {"instructions", nullptr}};
  if (auto listing = co_await disassemble(processes_, program.binary)) {
    json::array mixes;
    for (const SassMix& mix : read_sass(*listing)) {
      mixes.push_back(to_json(mix));
      if (std::string remark = remarks_on(mix); !remark.empty()) text += " " + remark;
    }
    facts["instructions"] = std::move(mixes);
  } else {
    facts["instructions_note"] = listing.error().summary();
  }

  facts["counters"] = json::object{{"available", false}, {"note", "not requested"}};
  if (settings_.counters && !task.inputs.empty()) {
    OnceJob job{.device = settings_.index,
                .at = at,
                .distributions = {},
                .plan = *plan,
                .functions = std::move(functions),
                .inputs_binary = inputs_binary_,
                .tools_binary = tools_,
                .candidate_binary = program.binary};
    for (std::size_t i = 0; i < at.inputs.size(); ++i) {
      // The distribution of a PyTorch module's inputs is unknown; counters hardly depend on it.
      job.distributions.push_back(task.inputs[i].data.empty() ? Distribution{}
                                                              : distribution_of(task, at, i));
    }
    facts["counters"] =
        co_await take_counters(processes_, settings_.self, settings_.ncu, std::move(job));
  }
  if (!executors_.note().empty()) facts["note"] = executors_.note();
  facts["text"] = text;
  co_return Json(std::move(facts));
}

}  // namespace specgen
