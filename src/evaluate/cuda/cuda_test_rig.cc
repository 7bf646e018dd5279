#include "evaluate/cuda/cuda_test_rig.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/json.h"
#include "evaluate/cuda/fault_finding.h"

namespace specgen {
namespace {

constexpr Duration kSlack = std::chrono::seconds(2);         // for an answer, beyond the limit
constexpr Duration kLayOutLimit = std::chrono::seconds(60);  // of requests that run no candidate
constexpr std::size_t kSharedAtOnce = 8;                     // pieces; kImportsAtOnce at most
static_assert(kSharedAtOnce <= kImportsAtOnce);

std::size_t index_of(Who who) {
  return static_cast<std::size_t>(who);
}

Finding refused(const Rejection& why) {
  return {.verdict = Verdict::rejected, .evidence = {.text = why.reason, .line = why.line}};
}

Result<std::vector<std::string>> functions_of(const Program& program, const LaunchPlan& plan) {
  std::vector<std::string> functions;
  for (const PlannedLaunch& launch : plan.launches) {
    auto found = program.lowered_names.find(launch.name_expression);
    if (found == program.lowered_names.end()) {
      return fail(ErrorCode::harness_failed,
                  "there is no mangled name for kernel " + launch.name_expression);
    }
    functions.push_back(found->second);
  }
  return functions;
}

}  // namespace

CudaTestRig::CudaTestRig(Context context, std::unique_ptr<Executor> executor, Program candidate,
                         Program baseline, InputSource& source, TestRigLimits limits)
    : context_(std::move(context)),
      executor_(std::move(executor)),
      programs_{std::move(baseline), std::move(candidate)},
      source_(source),
      limits_(limits) {}

Finding CudaTestRig::in_this_case(Finding found) const {
  if (!found.ok() && found.evidence.case_name.empty()) found.evidence.case_name = case_.title();
  return found;
}

Result<void> CudaTestRig::require_executor() const {
  if (executor_) return {};
  return fail(ErrorCode::harness_failed, "the executor of this rig has ended: open another rig");
}

Result<void> CudaTestRig::require_layout() const {
  TRY(require_executor());
  if (memory_) return {};
  return fail(ErrorCode::harness_failed, "no case is laid out on this rig");
}

Result<Finding> CudaTestRig::judge_reply(Who who, const Executor::Reply& reply, Duration limit) {
  using Kind = Executor::Reply::Kind;
  if (reply.kind == Kind::answered && reply.answer.ok) return Finding{};
  executor_.reset();
  context_.executors.doubt_device();
  Finding found;
  if (reply.kind == Kind::late) {
    found =
        finding(Verdict::timeout, fmt::format("it did not end within {}", format_duration(limit)));
  } else if (reply.kind == Kind::gone) {
    found = finding(Verdict::crash, "the process that ran it ended: " + reply.report);
  } else {
    found = finding_of(reply.answer, program(who).directives);
  }
  if (found.verdict == Verdict::harness_error) {
    return fail(ErrorCode::harness_failed, "the executor: " + found.evidence.text);
  }
  if (who == Who::candidate) return in_this_case(std::move(found));
  return fail(ErrorCode::bad_task,
              fmt::format("the baseline is {} on {}: {}", to_string(found.verdict), case_.title(),
                          found.evidence.text));
}

Task<Result<Finding>> CudaTestRig::load() {
  Spending loading(spent_, "load programs");
  auto reply = CO_TRY(co_await executor_->load(context_.tools, program(Who::baseline).binary,
                                               program(Who::candidate).binary));
  Finding found = CO_TRY(judge_reply(reply.answer.who, reply, kLayOutLimit));
  loaded_ = found.ok();
  // Our kernel runs first in this process, so that no candidate is blamed for what another did to
  // the device.
  if (loaded_ && context_.executors.is_device_in_doubt()) {
    CO_TRY(co_await executor_->canary());
    context_.executors.trust_device();
  }
  co_return found;
}

Task<Result<Finding>> CudaTestRig::lay_out(const KernelTask& task, Case at,
                                           std::vector<SetInput> seeds, Placement placement,
                                           Called) {
  CO_TRY(require_executor());
  case_ = std::move(at);
  for (Who who : {Who::baseline, Who::candidate}) {
    const Program& mine = program(who);
    if (!runs_here(who)) continue;
    auto plan = resolve(mine.directives, task, case_, mine.tunables, context_.limits);
    if (plan) {
      plans_[index_of(who)] = std::move(*plan);
    } else if (who == Who::candidate) {
      co_return in_this_case(refused(plan.error()));
    } else {
      co_return fail(ErrorCode::bad_task,
                     fmt::format("baseline.cu:{}: {}", plan.error().line, plan.error().reason));
    }
  }
  if (!loaded_) {
    Finding found = CO_TRY(co_await load());
    if (!found.ok()) co_return found;
  }
  task_ = &task;
  auto laid_out = co_await lay_out_memory(std::move(seeds), placement);
  if (!laid_out) executor_.reset();  // its state is unknown
  co_return laid_out;
}

Task<Result<Finding>> CudaTestRig::lay_out_memory(std::vector<SetInput> seeds,
                                                  Placement placement) {
  auto next = memory_request(seeds.size(), placement);
  if (Finding ready = CO_TRY(co_await clear_memory(next)); !ready.ok()) co_return ready;
  if (Finding made = CO_TRY(co_await make_memory(std::move(next))); !made.ok()) {
    executor_.reset();
    co_return in_this_case(std::move(made));
  }
  poison_of_.assign(seeds.size(), 0);
  max_call_ns_ = {};
  rounds_ = 0;
  CO_TRY(co_await refresh(std::move(seeds)));
  co_return co_await give_memory(*executor_, false);
}

Task<Result<Finding>> CudaTestRig::clear_memory(const RigMemory::Request& next) {
  if (!memory_) co_return Finding{};
  Spending clearing(spent_, "clear memory");
  ClearRequest request{.keep = memory_->end_case(next, context_.loop.random())};
  auto cleared = CO_TRY(co_await executor_->ask(std::move(request), kLayOutLimit));
  co_return judge_reply(Who::candidate, cleared, kLayOutLimit);
}

RigMemory::Request CudaTestRig::memory_request(std::size_t sets, Placement placement) {
  RigMemory::Request request{.at = case_,
                             .sets = sets,
                             .placement = placement,
                             .plans = plans_,
                             .scratch_dtypes = {},
                             .slack_secret = context_.loop.random().next()};
  for (Who who : {Who::baseline, Who::candidate}) {
    for (const ScratchSpec& scratch : program(who).directives.scratch) {
      request.scratch_dtypes[index_of(who)].push_back(scratch.dtype);
    }
  }
  return request;
}

Task<Result<Finding>> CudaTestRig::make_memory(RigMemory::Request request) {
  Spending making(spent_, "make memory");
  auto made = CO_TRY(co_await context_.worker.run(
      [gpu = context_.gpu, old = std::move(memory_), request = std::move(request)]() mutable {
        return RigMemory::make(gpu, std::move(request), std::move(old));
      }));
  memory_ = std::move(made.memory);
  co_return std::move(made.finding);
}

Task<Result<Finding>> CudaTestRig::give_memory(Executor& executor, bool inputs_writable) {
  Spending giving(spent_, "give memory");
  const bool is_ours = &executor == executor_.get();
  auto pieces = memory_->pieces(inputs_writable);
  auto numbers = is_ours ? memory_->numbers() : RigMemory::Numbers(pieces.size());
  // In random order, so that addresses reveal nothing.
  std::vector<std::size_t> order;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    if (!numbers[piece]) order.push_back(piece);
  }
  context_.loop.random().shuffle(order);
  for (std::size_t i = 0; i < order.size(); ++i) numbers[order[i]] = executor.imported() + i;

  // The executor imports some while the next are shared.
  std::size_t asked = 0;
  for (std::span<const std::size_t> left = order; !left.empty(); ++asked) {
    auto next = left.first(std::min(kSharedAtOnce, left.size()));
    left = left.subspan(next.size());
    std::vector<std::size_t> some(next.begin(), next.end());
    ImportRequest request;
    for (std::size_t piece : some) request.pieces.push_back(pieces[piece]);
    std::optional<Spending> sharing(std::in_place, spent_, "give memory: share");
    auto shared = CO_TRY(co_await context_.worker.run(
        [memory = memory_, some = std::move(some)] { return memory->share(some); }));
    sharing.reset();
    std::vector<int> descriptors;
    for (const Fd& fd : shared) descriptors.push_back(fd.get());
    // If it has ended, its answer says why.
    if (!co_await executor.send(std::move(request), std::move(descriptors))) left = {};
  }
  for (std::size_t answered = 0; answered < asked; ++answered) {
    auto reply = CO_TRY(co_await executor.receive(kLayOutLimit));
    if (reply.kind != Executor::Reply::Kind::answered || !reply.answer.ok) {
      co_return fail(ErrorCode::harness_failed,
                     "the executor did not import memory: " +
                         (reply.report.empty() ? reply.answer.problem() : reply.report));
    }
  }
  LayOutRequest request;
  for (Who who : {Who::baseline, Who::candidate}) {
    if (!runs_here(who)) continue;
    const LaunchPlan& plan = plans_[index_of(who)];
    request.programs[index_of(who)] = {.plan = compact_json(to_json(plan)),
                                       .functions = CO_TRY(functions_of(program(who), plan)),
                                       .scratch = {}};
  }
  if (is_ours) memory_->remember(numbers);
  memory_->describe(request, numbers);
  auto reply = CO_TRY(co_await executor.ask(std::move(request), kLayOutLimit));
  co_return judge_reply(reply.answer.who, reply, kLayOutLimit);
}

Task<Result<void>> CudaTestRig::refresh(std::vector<SetInput> seeds) {
  CO_TRY(require_layout());
  SG_ASSERT(seeds.size() == memory_->sets(), "a seed for every set");
  Spending drawing(spent_, "inputs");
  seeds_ = seeds;
  if (source_.is_generated()) co_return co_await draw_on_device();
  for (std::size_t set = 0; set < seeds.size(); ++set) {
    if (source_.is_on_device()) {
      auto exported = CO_TRY(co_await context_.worker.run(
          [memory = memory_, set] { return memory->export_inputs(set); }));
      CO_TRY(co_await source_.draw_into(with_draw(case_, seeds[set]), seeds[set].seed,
                                        std::move(exported.tensors)));
    } else {
      auto contents = CO_TRY(co_await source_.draw(with_draw(case_, seeds[set]), seeds[set].seed));
      CO_TRY(co_await context_.worker.run([memory = memory_, contents = std::move(contents), set] {
        return memory->upload(set, contents);
      }));
    }
  }
  co_return co_await context_.worker.run([memory = memory_] { return memory->finish(); });
}

// All sets at once: every message to the worker takes time.
Task<Result<void>> CudaTestRig::draw_on_device() {
  struct Draw {
    std::vector<Distribution> distributions;
    std::vector<std::uint64_t> seeds;
  };
  std::vector<Draw> draws;
  for (const SetInput& input : seeds_) {
    Case seen = with_draw(case_, input);
    Draw& draw = draws.emplace_back();
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      draw.seeds.push_back(tensor_seed(input.seed, i));
      draw.distributions.push_back(distribution_of(*task_, seen, i));
    }
  }
  co_return co_await context_.worker.run(
      [memory = memory_, draws = std::move(draws)]() -> Result<void> {
        for (std::size_t set = 0; set < draws.size(); ++set) {
          TRY(memory->draw(set, draws[set].distributions, draws[set].seeds));
        }
        return memory->finish();
      });
}

Task<Result<Finding>> CudaTestRig::call(Who who, std::size_t set) {
  CO_TRY(require_layout());
  SG_ASSERT(set < memory_->sets(), "there is no such set");
  poison_of_[set] = context_.loop.random().next();
  std::optional<Spending> spending(std::in_place, spent_, "poison");
  CO_TRY(co_await context_.worker.run(
      [memory = memory_, who, set, secret = poison_of_[set]]() -> Result<void> {
        TRY(memory->poison(who, set, secret));
        return memory->finish();
      }));
  spending.emplace(spent_, "calls");
  if (!runs_here(who)) {
    CO_TRY(co_await run_source(set, 0));
    co_return Finding{};
  }
  auto reply =
      CO_TRY(co_await executor_->ask(RunRequest{.who = who, .set = set}, limits_.call + kSlack));
  Finding found = CO_TRY(judge_reply(who, reply, limits_.call));
  if (!found.ok()) co_return co_await explain(std::move(found), set);
  if (reply.answer.wall_ns > static_cast<double>(limits_.call.count())) {
    executor_.reset();
    co_return in_this_case(finding(
        Verdict::timeout, fmt::format("it did not end within {}", format_duration(limits_.call))));
  }
  max_call_ns_[index_of(who)] = std::max(max_call_ns_[index_of(who)], reply.answer.wall_ns);
  spending.emplace(spent_, "guards");
  std::vector<std::size_t> one{set};
  bool holds = CO_TRY(co_await context_.worker.run(
      [memory = memory_, who, one] { return memory->slack_holds(who, one); }));
  if (holds) co_return Finding{};
  executor_.reset();
  if (who == Who::baseline) {
    co_return fail(ErrorCode::bad_task,
                   "the baseline writes outside its outputs or scratch on " + case_.title());
  }
  co_return in_this_case(
      finding(Verdict::out_of_bounds, "it wrote just outside an output or its scratch"));
}

// The baseline, a PyTorch module, runs in the source's process on the same device and writes its
// outputs to the judge's memory.
Task<Result<double>> CudaTestRig::run_source(std::size_t set, std::size_t cold_bytes) {
  auto exported = CO_TRY(co_await context_.worker.run(
      [memory = memory_, set] { return memory->export_outputs(set); }));
  co_return co_await source_.run_baseline_into(with_draw(case_, seeds_[set]), seeds_[set].seed,
                                               std::move(exported.tensors), cold_bytes);
}

// An illegal address may be a write to an input, because inputs are read-only in hardware.
Task<Result<Finding>> CudaTestRig::explain(Finding found, std::size_t set) {
  if (found.verdict != Verdict::out_of_bounds) co_return found;
  auto written = co_await check_for_written_input(set);
  if (written && !written->ok()) co_return in_this_case(std::move(*written));
  co_return found;
}

// Repeats the call in a new process where inputs are writable, and checks whether they change.
Task<Result<Finding>> CudaTestRig::check_for_written_input(std::size_t set) {
  auto second = CO_TRY(co_await context_.executors.take());
  auto loaded = CO_TRY(co_await second->load(context_.tools, program(Who::baseline).binary,
                                             program(Who::candidate).binary));
  if (!loaded.answer.ok) co_return Finding{};
  Finding ready = CO_TRY(co_await give_memory(*second, true));
  if (!ready.ok()) co_return Finding{};
  auto before = CO_TRY(
      co_await context_.worker.run([memory = memory_, set] { return memory->input_digests(set); }));
  // The reply does not matter: a write has happened before it.
  CO_TRY(
      co_await second->ask(RunRequest{.who = Who::candidate, .set = set}, limits_.call + kSlack));
  second.reset();
  auto after = CO_TRY(
      co_await context_.worker.run([memory = memory_, set] { return memory->input_digests(set); }));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    co_return finding(Verdict::input_modified,
                      fmt::format("it writes to its input {}", case_.inputs[i].name));
  }
  co_return Finding{};
}

Task<Result<std::vector<OutputReport>>> CudaTestRig::compare_outputs(
    std::size_t set, const std::vector<Expected>& expected,
    const std::vector<Tolerance>& tolerances) {
  SG_ASSERT(memory_ && set < memory_->sets(), "the set is not laid out");
  Spending comparing(spent_, "compare");
  std::vector<std::uint64_t> keys;
  for (const Expected& one : expected) keys.push_back(one.key);
  if (std::ranges::find(keys, 0U) == keys.end()) {
    auto known =
        CO_TRY(co_await context_.worker.run([memory = memory_, keys = std::move(keys), tolerances,
                                             set, poison = Poison{poison_of_[set]}] {
          return memory->compare_known(set, keys, tolerances, poison);
        }));
    if (known) co_return std::move(*known);
  }
  co_return co_await context_.worker.run(
      [memory = memory_, expected, tolerances, set, poison = Poison{poison_of_[set]}] {
        return memory->compare(set, expected, tolerances, poison);
      });
}

Task<Result<std::uint64_t>> CudaTestRig::digest(std::size_t set) {
  SG_ASSERT(memory_ && set < memory_->sets(), "the set is not laid out");
  co_return co_await context_.worker.run(
      [memory = memory_, set] { return memory->output_digest(set); });
}

}  // namespace specgen
