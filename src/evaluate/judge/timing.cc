// Judge: timing a candidate against the baseline. Every timed round has new inputs, and every output of it is compared.

#include <fmt/core.h>

#include <algorithm>

#include "evaluate/judge/judge.h"
#include "evaluate/judge/timed_samples.h"
#include "runtime/stopwatch.h"

namespace specgen {

Task<Result<Validation>> Judge::screen_in_fresh_rig(PreparedTask& prepared,
                                                    const Program& candidate, TimingEffort effort,
                                                    std::string* counted) {
  auto rig = CO_TRY(co_await open_rig(prepared, candidate, {.fresh_memory = true}));
  co_return co_await screen(prepared, *rig, effort, counted);
}

Task<Result<Validation>> Judge::screen(PreparedTask& prepared, TestRig& rig, TimingEffort effort,
                                       std::string* counted) {
  CO_TRY(co_await device_.ready_pool().settle());
  Validation result;
  std::vector<Interval> parts;
  std::vector<double> weights;
  for (std::size_t i = 0; i < prepared.timed.size(); ++i) {
    CaseResult timed{.name = prepared.timed[i].title(),
                     .hidden = prepared.timed[i].hidden,
                     .timed = true,
                     .weight = prepared.timed[i].weight};
    result.finding = CO_TRY(co_await time_case(prepared, rig, i, effort, timed));
    timed.status = result.finding.ok() ? CaseStatus::passed : CaseStatus::failed;
    parts.push_back({timed.speedup.median, timed.speedup.low, timed.speedup.high});
    weights.push_back(timed.weight);
    result.cases.push_back(std::move(timed));
    if (!result.finding.ok()) co_return result;
    if (counted && &prepared.timed[i] == &prepared.heaviest()) {
      Measuring measuring(measured_ns_);
      result.finding = CO_TRY(co_await rig.count(*counted));
      if (!result.finding.ok()) co_return result;
    }
  }
  Interval all = weighted_geometric_mean(parts, weights);
  result.screen = {all.median, all.low, all.high};
  co_return result;
}

Task<Result<Finding>> Judge::time_case(PreparedTask& prepared, TestRig& rig, std::size_t number,
                                       TimingEffort effort, CaseResult& result) {
  const Case& at = prepared.timed[number];
  const std::size_t sets = device_.sets_for(at.footprint());
  auto inputs_of = [&, sets](std::size_t round) {
    std::vector<SetInput> inputs;
    std::string purpose = fmt::format("timing {} {} {}", rigs_opened_, number, round);
    for (std::size_t set = 0; set < sets; ++set) inputs.emplace_back(secret_.derive(purpose, set));
    return inputs;
  };
  Placement placement = rigs_opened_ % 2 == 0 ? Placement::behind : Placement::before;
  Finding found =
      CO_TRY(co_await rig.lay_out(prepared.task, at, inputs_of(0), placement, Called::both));
  if (!found.ok()) co_return found;
  Measuring measuring(measured_ns_);
  called_ns_ = 0;
  TimedRounds rounds{.inputs_of = inputs_of,
                     .tolerances = tolerances_of(*prepared.source, at),
                     .scales = prepared.timed_scales[number]};
  if (!rounds.scales.empty()) {  // else the first round is the warm-up
    found = CO_TRY(co_await rig.call(Who::baseline, 0));
    if (found.ok()) found = CO_TRY(co_await call_candidate(rig, 0, sets));
    if (!found.ok()) co_return found;
  }
  found = CO_TRY(co_await time_rounds(rig, at, rounds, effort, result));
  // Of the baseline's outputs, so no candidate can influence them.
  prepared.timed_scales[number] = std::move(rounds.scales);
  co_return found;
}

// Rounds until the interval is narrow or the budget is spent.
Task<Result<Finding>> Judge::time_rounds(TestRig& rig, const Case& at, TimedRounds& rounds,
                                         TimingEffort effort, CaseResult& result) {
  constexpr std::size_t kMaxRounds = 400;
  constexpr double kBearable = 0.2;
  // Errors are measured by the magnitude of the outputs. The first round on a case finds it and does
  // not count; until then only unwritten and infinite elements are refused.
  const bool finds_scales = rounds.scales.empty();
  std::vector<double> scales = rounds.scales;
  if (finds_scales) scales.assign(at.outputs.size(), 1e30);
  TimedSamples samples;
  const std::int64_t deadline = stopwatch_ns() + effort.budget.count();
  const std::int64_t last_deadline = stopwatch_ns() + 8 * effort.budget.count();
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    if (round > 0) CO_TRY(co_await rig.refresh(rounds.inputs_of(round)));
    Round timed = CO_TRY(co_await rig.time_round(scales, rounds.tolerances));
    if (!timed.finding.ok()) co_return timed.finding;
    for (std::size_t i = 0; i < at.outputs.size(); ++i) {
      Finding found = judge_output(at, at.outputs[i], timed.outputs[i], rounds.tolerances[i], -1);
      if (!found.ok()) co_return found;
    }
    if (round == 0 && finds_scales) {
      for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 4 * timed.outputs[i].rms_value();
      rounds.scales = scales;
      continue;
    }
    const std::int64_t now = stopwatch_ns();
    samples.add(timed, now > deadline || round + 1 == kMaxRounds);
    if (samples.size() == 0) continue;
    Interval ratio = samples.ratio();
    result.speedup = {ratio.median, ratio.low, ratio.high};
    bool enough = samples.size() >= effort.min_samples && narrow_enough(ratio, effort.narrow);
    // A busy machine gets more time before its timings are called unstable.
    bool late = now > deadline && samples.size() >= effort.min_samples / 2;
    if (enough || (late && narrow_enough(ratio, kBearable)) || now > last_deadline) break;
  }
  result.baseline_seconds = samples.baseline_seconds();
  result.candidate_seconds = samples.candidate_seconds();
  result.disturbed = samples.disturbed();
  result.moved = samples.moved();
  co_return Finding{};
}

}  // namespace specgen
