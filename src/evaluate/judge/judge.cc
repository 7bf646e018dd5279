#include "evaluate/judge/judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"
#include "evaluate/cpu/cpu_toolchain.h"
#include "evaluate/cpu/native_source.h"
#include "evaluate/judge/profile_facts.h"
#include "evaluate/pytorch/python_process.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

// Up to this many elements the reference computes all of an output; beyond it, samples.
constexpr std::int64_t kFullReference = 1 << 22;
constexpr std::size_t kSamples = 64;

std::int64_t elements_of(const Case& at) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : at.inputs) sum += tensor.elements;
  for (const Tensor& tensor : at.outputs) sum += tensor.elements;
  return sum;
}

// How many draws it takes to see every distribution of every input.
std::size_t draws_of(const KernelTask& task) {
  std::size_t draws = 2;
  for (const TensorSpec& input : task.inputs) draws = std::max(draws, input.data.size());
  return draws;
}

template <class T>
Task<void> keep(Task<T> task, std::optional<T>& into) {
  into = co_await std::move(task);
}

// A busy machine can only make a measured ceiling too low, never too high.
Ceilings highest(Ceilings a, const Ceilings& b) {
  auto raise = [](double& value, double other) { value = std::max(value, other); };
  raise(a.memory_bytes_per_second, b.memory_bytes_per_second);
  raise(a.cache_bytes_per_second, b.cache_bytes_per_second);
  raise(a.near_cache_bytes_per_second, b.near_cache_bytes_per_second);
  for (const auto& [rate, value] : b.flops_per_second) raise(a.flops_per_second[rate], value);
  a.launch_seconds = std::min(a.launch_seconds, b.launch_seconds);
  return a;
}

}  // namespace

Judge::Judge(JudgeContext& context, Device& device, Secret secret, JudgeLimits limits)
    : context_(context), device_(device), secret_(secret), limits_(limits) {}
Judge::~Judge() = default;

void Judge::report(std::string_view progress) const {
  if (on_progress) on_progress(progress);
}

Task<Result<PreparedTask*>> Judge::prepare(std::string where, Values shapes) {
  std::string key = where;
  for (const auto& [name, value] : shapes) key += fmt::format(" {}={}", name, value);
  if (auto known = tasks_.find(key); known != tasks_.end()) co_return known->second.get();
  auto prepared = std::make_unique<PreparedTask>();
  if (where.ends_with(".py")) {
    CO_TRY(co_await prepare_python(*prepared, std::move(where), std::move(shapes)));
  } else if (!shapes.empty()) {
    co_return fail(ErrorCode::bad_usage, "--shape is for PyTorch tasks",
                   "a native task's shapes are in its task.toml");
  } else {
    prepared->task = CO_TRY(load_task(where));
    CO_TRY(co_await prepare_native(*prepared));
  }
  co_return (tasks_[key] = std::move(prepared)).get();
}

Task<Result<void>> Judge::prepare_native(PreparedTask& prepared) {
  const KernelTask& task = prepared.task;
  if (!task.has(device_.info().backend)) {
    co_return fail(ErrorCode::bad_task,
                   fmt::format("{} has no baseline for {}", task.folder.string(),
                               to_string(device_.info().backend)));
  }
  TaskGroup beside(context_.loop);
  if (!task.vendor.empty()) beside.spawn(find_torch());
  prepared.source = CO_TRY(co_await NativeSource::open(context_, task));
  Compiled baseline = CO_TRY(co_await device_.toolchain().compile_baseline(task));
  if (!baseline.finding.ok()) {
    co_return fail(
        ErrorCode::bad_task,
        fmt::format("{}: the baseline is refused ({}): {}", task.folder.string(),
                    to_string(baseline.finding.verdict), baseline.finding.evidence.text));
  }
  prepared.baseline = std::move(baseline.program);
  CO_TRY(co_await prepare_checks(prepared));
  co_return co_await beside.join();
}

Task<Result<void>> Judge::prepare_checks(PreparedTask& prepared) {
  const KernelTask& task = prepared.task;
  std::vector<Case> cases = CO_TRY(public_cases(task, device_.info().backend));
  std::vector<Case> hidden = CO_TRY(hidden_cases(task, secret_));
  cases.insert(cases.end(), hidden.begin(), hidden.end());
  for (const Case& at : cases) {
    if (at.weight > 0) prepared.timed.push_back(at);
    const bool small = elements_of(at) <= kFullReference;
    if (!small && !task.check.sampled) continue;  // its timed calls are compared with the baseline
    // Public cases are listed once per distribution; hidden ones get every distribution here.
    std::size_t draws = at.hidden && small ? draws_of(task) : 1;
    for (std::size_t draw = 0; draw < draws; ++draw) {
      CheckPoint point{.at = at, .seed = secret_.derive("check", prepared.checks.size())};
      if (at.hidden) point.at.draw = draw;
      point.expected =
          CO_TRY(co_await prepared.source->expect(point.at, point.seed, small ? 0 : kSamples));
      for (Expected& one : point.expected) one.key = ++expectations_;
      point.tolerances = tolerances_of(*prepared.source, at);
      prepared.checks.push_back(std::move(point));
    }
  }
  if (prepared.timed.empty()) {
    co_return fail(ErrorCode::bad_task,
                   fmt::format("{}: no case is timed on {}: give one a weight",
                               task.folder.string(), to_string(device_.info().backend)));
  }
  co_return Result<void>();
}

Task<Result<Compiled>> Judge::compile(const PreparedTask& prepared, std::string source,
                                      Values tunables) {
  return device_.toolchain().compile(prepared.task, std::move(source), std::move(tunables));
}

Task<Result<std::unique_ptr<TestRig>>> Judge::open_rig(const PreparedTask& prepared,
                                                       const Program& candidate,
                                                       TestRigLimits limits) {
  if (before_device) CO_TRY(co_await before_device());
  ++rigs_opened_;
  limits.call = limits_.call;
  co_return co_await device_.open_rig(prepared.task, candidate, prepared.baseline, *prepared.source,
                                      limits);
}

std::string Judge::profile_of(const Profiled& profiled) const {
  auto facts = parse_json(profiled.facts);
  if (!profiled.finding.ok() || !ceilings_ || !facts) return "null";
  return compact_json(profile_json(profiled.cases, *ceilings_, *facts, device_.info().backend));
}

// Measured once per device and cached: they change with the hardware, not with the candidate.
Task<Result<void>> Judge::load_ceilings(Ceiling how) {
  const bool again = how == Ceiling::measured_again;
  if (ceilings_ && !again) co_return Result<void>();
  std::optional<std::filesystem::path> kept;
  if (auto folder = cache_folder("ceilings")) {
    std::string name = device_.info().id + "-" + device_.info().name;
    std::ranges::replace_if(name, [](char c) { return c == '/' || c == ' ' || c == ':'; }, '-');
    kept = *folder / (name + ".json");
    if (auto text = read_file(*kept); text && !ceilings_) {
      if (auto json = parse_json(*text)) {
        if (auto known = ceilings_from_json(*json)) ceilings_ = *known;
      }
    }
  }
  if (!ceilings_ || again) {
    report("measuring the ceilings of this device");
    Ceilings measured = CO_TRY(co_await device_.measure_ceilings());
    ceilings_ = ceilings_ ? highest(*ceilings_, measured) : measured;
    if (kept) (void)write_file_durably(*kept, pretty_json(to_json(*ceilings_)));
  }
  co_return Result<void>();
}

Evaluation Judge::begin_evaluation(std::string task) {
  measured_ns_ = 0;
  return {.task = std::move(task),
          .device = device_.info().id,
          .device_name = device_.info().name,
          .sandbox = std::string(to_string(context_.sandbox.level())),
          .trust = "full"};
}

void Judge::add_validation(const PreparedTask& prepared, const Program& candidate,
                           const Validation& validation, Evaluation& to) const {
  to.task = prepared.task.title();
  to.marks.clear();
  if (prepared.task.fixed_shape) to.marks.emplace_back("fixed-shape");
  to.verdict = validation.finding.verdict;
  to.evidence = validation.finding.evidence;
  to.cases = validation.cases;
  to.tunables = candidate.tunables;
  to.timings.measure += Duration(measured_ns_);
}

Task<void> Judge::add_profile(const PreparedTask& prepared, Profiled profiled, VendorTime vendor,
                              Evaluation& to) {
  to.verdict = profiled.finding.verdict;
  to.evidence = profiled.finding.evidence;
  for (CaseResult& confirmed : profiled.cases) {
    auto known = std::ranges::find(to.cases, confirmed.name, &CaseResult::name);
    if (known == to.cases.end()) {
      to.cases.push_back(confirmed);
    } else {
      confirmed.rms_error_ratio = known->rms_error_ratio;
      *known = confirmed;
    }
  }
  to.timings.measure += Duration(measured_ns_);
  if (!profiled.finding.ok()) co_return;
  to.speedup = profiled.speedup;
  to.peak_fraction = mean_peak_fraction(profiled.cases);
  to.profile = profile_of(profiled);
  to.vendor_ratio = co_await compare_with_vendor(prepared, profiled.cases, vendor);
}

// A task that is new here is prepared while the candidate is compiled.
Task<Result<Compiled>> Judge::prepare_and_compile(EvaluationJob job, PreparedTask*& prepared) {
  report("compiling");
  std::optional<Result<PreparedTask*>> ready;
  std::optional<Result<Compiled>> compiled;
  TaskGroup both(context_.loop);
  both.spawn(keep(prepare(job.task, job.shapes), ready));
  const bool is_native = !job.task.ends_with(".py");
  KernelTask task;
  if (is_native) {
    task = CO_TRY(load_task(job.task));
    both.spawn(keep(device_.toolchain().compile(task, job.source, job.tunables), compiled));
  }
  TaskGroup beside(context_.loop);
  if (while_compiling) beside.spawn(while_compiling());
  CO_TRY(co_await both.join());
  beside.cancel();
  prepared = CO_TRY(std::move(*ready));
  if (is_native) co_return std::move(*compiled);
  co_return co_await compile(*prepared, std::move(job.source), std::move(job.tunables));
}

// Replaces the program and its validation by those of better tunables, if there are any.
Task<Result<void>> Judge::tune_and_validate(PreparedTask& prepared, Program& program,
                                            Validation& validation, Evaluation& evaluation) {
  report("trying tunables");
  Tuned tuned = CO_TRY(co_await tune(prepared, program, validation));
  if (tuned.best == program.tunables) co_return Result<void>();
  // The winner is validated like any other candidate.
  Validation again = CO_TRY(co_await validate(prepared, tuned.program));
  if (!again.finding.ok()) co_return Result<void>();
  program = std::move(tuned.program);
  validation = std::move(again);
  add_validation(prepared, program, validation, evaluation);
  co_return Result<void>();
}

Task<Result<Evaluation>> Judge::evaluate(EvaluationJob job) {
  const Time start = context_.loop.now();
  Evaluation evaluation = begin_evaluation(job.task);
  if (job.model_new) co_return co_await evaluate_model_new(std::move(job), std::move(evaluation));
  auto lap = [&, last = start]() mutable {
    return context_.loop.now() - std::exchange(last, context_.loop.now());
  };
  auto finish = [&] {
    evaluation.timings.total = context_.loop.now() - start;
    evaluation.timings.measure = Duration(measured_ns_);
    return std::move(evaluation);
  };

  PreparedTask* task = nullptr;
  Compiled compiled = CO_TRY(co_await prepare_and_compile(std::move(job), task));
  PreparedTask& prepared = *task;
  evaluation.task = prepared.task.title();
  if (prepared.task.fixed_shape) evaluation.marks.emplace_back("fixed-shape");
  lap();
  evaluation.timings.compile = compiled.took;
  if (!compiled.finding.ok()) {
    evaluation.verdict = compiled.finding.verdict;
    evaluation.evidence = std::move(compiled.finding.evidence);
    co_return finish();
  }

  Validation validation = CO_TRY(co_await validate(prepared, compiled.program));
  evaluation.timings.validate = lap();
  add_validation(prepared, compiled.program, validation, evaluation);
  if (!validation.finding.ok()) co_return finish();

  if (!compiled.program.directives.tunables.empty()) {
    CO_TRY(co_await tune_and_validate(prepared, compiled.program, validation, evaluation));
    evaluation.timings.validate += lap();
  }

  Profiled profiled = CO_TRY(co_await profile(prepared, compiled.program, validation));
  evaluation.timings.profile = lap();
  co_await add_profile(prepared, std::move(profiled), VendorTime::measured, evaluation);
  co_return finish();
}

}  // namespace specgen
