// Judge: tasks that are PyTorch modules, and candidates that are Python.

#include <fmt/core.h>

#include <boost/json.hpp>
#include <cmath>

#include "base/cache_folder.h"
#include "evaluate/judge/judge.h"
#include "evaluate/judge/statistics.h"
#include "evaluate/pytorch/model_new.h"
#include "evaluate/pytorch/python_task.h"
#include "evaluate/pytorch/vendor.h"

namespace specgen {
namespace {

constexpr std::size_t kDraws = 3;  // of the one shape such a task has
// Up to this many elements all are compared with fp64; beyond it kSamples secret ones of each output are, and all are
// compared with the eager module's.
constexpr std::int64_t kFullOutputs = 1 << 24;
constexpr std::size_t kSamples = 1 << 16;

PythonHost host_of(JudgeContext& context, Python python, const Device& device) {
  PythonHost host{.loop = context.loop,
                  .driver = context.driver,
                  .processes = context.processes,
                  .wrap =
                      [&context](Command command, SandboxLimits limits, SandboxView view) {
                        return context.sandbox.wrap(std::move(command), limits, std::move(view));
                      },
                  .python = std::move(python)};
  if (device.info().backend == Backend::cuda) host.device = device.info().id;
  host.limits.memory = GiB(16);
  host.limits.processes = 512;  // torch starts a thread for every core
  host.limits.file_size = GiB(2);
  host.limits.tmp_size = GiB(2);
  host.limits.cpu_time = std::chrono::minutes(20);
  if (auto folder = cache_folder("torch")) host.cache = *folder;
  return host;
}

}  // namespace

Task<Result<void>> Judge::prepare_python(PreparedTask& prepared, std::string file, Values shapes) {
  // Its process uses the GPU, on which another may be timing.
  if (device_.info().backend == Backend::cuda && before_device) CO_TRY(co_await before_device());
  report("starting Python");
  Python python = CO_TRY(co_await find_python(context_.processes, context_.python));
  prepared.python = std::make_unique<PythonHost>(host_of(context_, std::move(python), device_));
  PythonTaskRequest request{.file = std::filesystem::absolute(file),
                            .overrides = {shapes.begin(), shapes.end()},
                            .seed = secret_.derive("parameters")};
  auto task = CO_TRY(co_await open_python_task(*prepared.python, std::move(request)));
  prepared.task = task->kernel_task();
  Case at = task->only_case();
  at.weight = 1;
  prepared.timed = {at};
  prepared.source = std::move(task);
  std::int64_t elements = 0;
  for (const Tensor& output : at.outputs) elements += output.elements;
  const std::size_t samples = elements > kFullOutputs ? kSamples : 0;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    CheckPoint point{.at = at, .seed = secret_.derive("check", draw)};
    point.expected = CO_TRY(co_await prepared.source->expect(at, point.seed, samples));
    for (Expected& one : point.expected) one.key = ++expectations_;
    point.tolerances = tolerances_of(*prepared.source, at);
    prepared.checks.push_back(std::move(point));
  }
  co_return Result<void>();
}

Task<Result<std::string>> Judge::describe_python(std::string file, Values shapes) {
  Python python = CO_TRY(co_await find_python(context_.processes, context_.python));
  PythonHost host = host_of(context_, std::move(python), device_);
  Description description = CO_TRY(co_await describe_python_task(
      host, {.file = std::move(file), .overrides = {shapes.begin(), shapes.end()}}));
  co_return std::move(description.json);
}

// Once: starting an interpreter takes long.
Task<void> Judge::find_torch() {
  if (looked_for_torch_) co_return;
  auto python = co_await find_python(context_.processes, context_.python);
  if (python) torch_ = std::make_unique<Python>(std::move(*python));
  looked_for_torch_ = true;
}

Task<std::optional<double>> Judge::compare_with_vendor(const PreparedTask& prepared,
                                                       const std::vector<CaseResult>& cases,
                                                       VendorTime how) {
  if (prepared.task.vendor.empty()) co_return std::nullopt;
  co_await find_torch();
  if (!torch_) co_return std::nullopt;
  double logs = 0, weights = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (how == VendorTime::measured) report("timing the vendor's library");
    VendorPlace place{.device = device_.info().backend == Backend::cuda ? device_.info().id : "cpu",
                      .name = device_.info().name,
                      .threads = static_cast<int>(device_.info().lock_names.size())};
    auto vendor_seconds = co_await time_vendor(context_, *torch_, prepared.task, prepared.timed[i],
                                               std::move(place), how);
    // An operation that torch lacks does not fail the evaluation.
    if (!vendor_seconds) co_return std::nullopt;
    logs += cases[i].weight * std::log(*vendor_seconds / cases[i].candidate_seconds);
    weights += cases[i].weight;
  }
  if (weights <= 0) co_return std::nullopt;
  co_return std::exp(logs / weights);
}

Task<Result<Evaluation>> Judge::evaluate_model_new(EvaluationJob job, Evaluation evaluation) {
  const Time start = context_.loop.now();
  if (!job.task.ends_with(".py")) {
    co_return fail(ErrorCode::bad_usage, "a Python candidate needs a PyTorch task",
                   "name the problem's .py file as the task");
  }
  PreparedTask& prepared = *CO_TRY(co_await prepare(job.task, job.shapes));
  if (before_device) CO_TRY(co_await before_device());
  auto& task = static_cast<PythonTask&>(*prepared.source);
  report("judging the Python module");
  ModelNewOutcome outcome = CO_TRY(co_await judge_model_new(
      task, {.source = std::move(job.source), .secret = secret_, .call_limit = limits_.call}));
  evaluation.task = prepared.task.title();
  evaluation.trust = outcome.trust;
  evaluation.marks = {"fixed-shape", "model-new"};
  evaluation.verdict = outcome.finding.verdict;
  evaluation.evidence = outcome.finding.evidence;
  evaluation.timings.compile = outcome.load_took;
  evaluation.timings.total = context_.loop.now() - start;
  evaluation.timings.validate = evaluation.timings.total - outcome.load_took;
  if (outcome.finding.ok()) {
    CaseResult result{.name = prepared.timed.front().title(),
                      .timed = true,
                      .status = CaseStatus::passed,
                      .weight = 1};
    result.baseline_seconds = 1e-9 * median(outcome.baseline_ns);
    result.candidate_seconds = 1e-9 * median(outcome.candidate_ns);
    result.speedup = outcome.speedup;
    evaluation.cases.push_back(std::move(result));
    evaluation.speedup = outcome.speedup;
    boost::json::array remarks(outcome.remarks.begin(), outcome.remarks.end());
    evaluation.profile = compact_json({{"backend", to_string(device_.info().backend)},
                                       {"parameters_by", outcome.parameters_by},
                                       {"remarks", std::move(remarks)},
                                       {"text", "a Python module; no profile is taken of it"}});
  }
  co_return evaluation;
}

}  // namespace specgen
