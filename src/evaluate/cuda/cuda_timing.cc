// CudaTestRig: the timed rounds.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "evaluate/cuda/cuda_test_rig.h"

namespace specgen {
namespace {

constexpr Duration kSlack = std::chrono::seconds(5);

std::vector<std::size_t> all_sets(const RigMemory& memory) {
  std::vector<std::size_t> sets(memory.sets());
  std::iota(sets.begin(), sets.end(), std::size_t{0});
  return sets;
}

}  // namespace

// All sets in one batch. Outputs and scratch are poisoned before, and the memory around them is
// checked afterwards. The device's pace is read first, because an idle device slows down.
Task<Result<Finding>> CudaTestRig::time_batch(Who who, std::uint64_t secret,
                                              std::vector<double>& ns, GpuPace& pace) {
  std::vector<std::size_t> sets = all_sets(*memory_);
  std::optional<Spending> spending(std::in_place, spent_, "timed: poison");
  CO_TRY(co_await context_.worker.run([memory = memory_, who, sets, secret]() -> Result<void> {
    for (std::size_t set : sets) TRY(memory->poison(who, set, secret));
    return memory->finish();
  }));
  poison_of_.assign(sets.size(), secret);
  const auto count = static_cast<double>(sets.size());
  spending.emplace(spent_, "timed: calls");
  std::size_t l2_bytes = context_.gpu->device().l2_bytes;
  if (!runs_here(who)) {
    for (std::size_t set : sets) ns.push_back(CO_TRY(co_await run_source(set, 2 * l2_bytes)));
    pace = context_.watch.read();
    co_return Finding{};
  }
  bool rotation_is_cold =
      case_.footprint().count * sets.size() >= 3 * static_cast<std::uint64_t>(l2_bytes);
  TimeRequest request{.who = who, .sets = sets, .flush_bytes = rotation_is_cold ? 0 : 2 * l2_bytes};
  double& longest = max_call_ns_[static_cast<std::size_t>(who)];
  Duration limit = limits_.call + Duration(static_cast<std::int64_t>(4 * count * longest));
  auto reply = CO_TRY(co_await executor_->ask(std::move(request), limit + kSlack));
  spending.emplace(spent_, "timed: pace");
  pace = context_.watch.read();
  Finding found = CO_TRY(judge_reply(who, reply, limits_.call));
  if (!found.ok()) co_return co_await explain(std::move(found), 0);

  ns = std::move(reply.answer.ns);
  double sum = std::accumulate(ns.begin(), ns.end(), 0.0);
  // Both clocks measured the same work, and a kernel cannot slow the host's clock down.
  if (ns.size() != sets.size() || !(sum <= 1.05 * reply.answer.wall_ns + 200'000)) {
    executor_.reset();
    co_return fail(ErrorCode::harness_failed,
                   fmt::format("{} timed calls took {:.0f} ns by the device's clock and {:.0f} ns "
                               "by the host's",
                               ns.size(), sum, reply.answer.wall_ns));
  }
  spending.emplace(spent_, "timed: guards");
  longest = std::max(longest, *std::ranges::max_element(ns));
  bool holds = CO_TRY(co_await context_.worker.run(
      [memory = memory_, who, sets] { return memory->slack_holds(who, sets); }));
  if (holds) co_return Finding{};
  executor_.reset();
  if (who == Who::baseline) {
    co_return fail(ErrorCode::bad_task,
                   "the baseline writes outside its outputs or scratch on " + case_.title());
  }
  co_return in_this_case(
      finding(Verdict::out_of_bounds, "it wrote just outside an output or its scratch"));
}

// One batch each, in alternating order. The outputs of the first are copied to where the second
// cannot reach them.
Task<Result<Round>> CudaTestRig::time_round(const std::vector<double>& scales,
                                            const std::vector<Tolerance>& tolerances) {
  CO_TRY(require_layout());
  Round round;
  const bool candidate_first = rounds_++ % 2 == 1;
  const std::uint64_t secret = context_.loop.random().next();
  std::array<GpuPace, 2> paces;
  for (bool first : {true, false}) {
    const bool is_candidate = first == candidate_first;
    GpuPace& pace = paces[first ? 0 : 1];
    round.finding =
        CO_TRY(co_await time_batch(is_candidate ? Who::candidate : Who::baseline, secret,
                                   is_candidate ? round.candidate_ns : round.baseline_ns, pace));
    if (!round.finding.ok()) co_return round;
    if (!first) break;
    Spending keeping(spent_, "timed: keep");
    CO_TRY(co_await context_.worker.run([memory = memory_] { return memory->keep_outputs(); }));
  }
  round.is_spoiled = !is_same_pace(paces[0], paces[1]);
  Spending comparing(spent_, "timed: compare");
  round.outputs = CO_TRY(co_await context_.worker.run(
      [memory = memory_, candidate_first, scales, tolerances, poison = Poison{secret}] {
        return memory->compare_kept(candidate_first, scales, tolerances, poison);
      }));
  co_return round;
}

}  // namespace specgen
