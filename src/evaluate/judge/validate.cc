// Judge: is a candidate right, and about how fast?

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "evaluate/judge/judge.h"
#include "evaluate/judge/timed_samples.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

// Adds the time it lives to a sum.
class Measuring {
 public:
  explicit Measuring(std::int64_t& sum_ns) : sum_ns_(sum_ns), start_(stopwatch_ns()) {}
  Measuring(const Measuring&) = delete;
  ~Measuring() { sum_ns_ += stopwatch_ns() - start_; }

 private:
  std::int64_t& sum_ns_;
  std::int64_t start_;
};

// How many points are laid out together, group by group: those of one shape. From shape to shape the
// tensors lean on the other guard.
std::vector<std::size_t> group_sizes(std::span<const CheckPoint> points) {
  std::vector<std::size_t> sizes;
  while (!points.empty()) {
    auto same = [&](const CheckPoint& point) {
      return point.at.axes == points.front().at.axes && point.at.hidden == points.front().at.hidden;
    };
    sizes.push_back(
        static_cast<std::size_t>(std::ranges::find_if_not(points, same) - points.begin()));
    points = points.subspan(sizes.back());
  }
  return sizes;
}

}  // namespace

// What is laid out together: points of one case, each on a set of its own.
Task<Result<Finding>> Judge::check_group(PreparedTask& prepared, TestRig& rig,
                                         std::span<CheckPoint> points, Placement placement,
                                         CaseResult& result) {
  Case at = points.front().at;
  std::vector<SetInput> sets;
  for (const CheckPoint& point : points) {
    sets.emplace_back(point.seed, point.at.draw - at.draw);
  }
  const bool is_known = std::ranges::none_of(
      points, [](const CheckPoint& point) { return point.baseline_rms.empty(); });
  Finding found =
      CO_TRY(co_await rig.lay_out(prepared.task, std::move(at), std::move(sets), placement,
                                  is_known ? Called::candidate : Called::both));
  Measuring measuring(measured_ns_);
  for (std::size_t set = 0; set < points.size() && found.ok(); ++set) {
    found = CO_TRY(co_await check(prepared, rig, set, points[set], result));
    if (!found.ok()) found.evidence.case_name = points[set].at.title();
  }
  co_return found;
}

// Calls that all stay just below their limit would still hold the device for minutes. `stands_for`: so many that come.
Task<Result<Finding>> Judge::call_candidate(TestRig& rig, std::size_t set, std::size_t stands_for) {
  constexpr int kMaxTogether = 6;  // times the limit of one
  const Duration limit = kMaxTogether * limits_.call;
  const std::int64_t start = stopwatch_ns();
  Finding found = CO_TRY(co_await rig.call(Who::candidate, set));
  called_ns_ += static_cast<std::int64_t>(stands_for) * (stopwatch_ns() - start);
  if (found.ok() && called_ns_ > limit.count()) {
    found = finding(Verdict::timeout,
                    fmt::format("its calls took more than {} together", format_duration(limit)));
  }
  co_return found;
}

Task<Result<Finding>> Judge::check(PreparedTask& prepared, TestRig& rig, std::size_t set,
                                   CheckPoint& point, CaseResult& result) {
  if (point.baseline_rms.empty()) {
    Finding honest = CO_TRY(co_await rig.call(Who::baseline, set));
    auto reports = CO_TRY(co_await rig.compare_outputs(set, point.expected, point.tolerances));
    for (std::size_t i = 0; i < reports.size() && honest.ok(); ++i) {
      honest = judge_output(point.at, point.at.outputs[i], reports[i], point.tolerances[i], -1);
      point.baseline_rms.push_back(reports[i].rms_error());
    }
    if (!honest.ok()) {
      point.baseline_rms.clear();
      co_return fail(
          ErrorCode::bad_task,
          fmt::format("{}: the baseline itself is judged {} on {}: {}", prepared.task.title(),
                      to_string(honest.verdict), point.at.title(), honest.evidence.text));
    }
  }
  Finding found = CO_TRY(co_await call_candidate(rig, set, 1));
  if (!found.ok()) co_return found;
  auto reports = CO_TRY(co_await rig.compare_outputs(set, point.expected, point.tolerances));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    found = judge_output(point.at, point.at.outputs[i], reports[i], point.tolerances[i],
                         point.baseline_rms[i]);
    if (!found.ok()) co_return found;
    double ratio = reports[i].rms_error() / std::max(point.baseline_rms[i], 1e-300);
    if (point.baseline_rms[i] > 0) result.rms_error_ratio = std::max(result.rms_error_ratio, ratio);
  }
  if (prepared.task.check.deterministic) {
    std::uint64_t first = CO_TRY(co_await rig.digest(set));
    found = CO_TRY(co_await call_candidate(rig, set, 1));
    if (!found.ok()) co_return found;
    if (CO_TRY(co_await rig.digest(set)) != first) {
      co_return Finding{Verdict::nondeterministic,
                        {.text = "the same input gave different bits the second time; this task "
                                 "asks for the same",
                         .case_name = point.at.title()}};
    }
  }
  co_return Finding{};
}

Task<Result<Validation>> Judge::validate(PreparedTask& prepared, const Program& candidate) {
  Breakdown spent;
  Validation validation;
  std::unique_ptr<TestRig> rig;
  {
    Spending whole(spent, "in all");
    {
      Spending opening(spent, "open");
      rig = CO_TRY(co_await open_rig(prepared, candidate, {}));
    }
    validation = CO_TRY(co_await validate_on(*rig, prepared, spent));
    add(spent, rig->breakdown());
    Spending closing(spent, "close");
    rig.reset();
  }
  validation.breakdown = std::move(spent);
  co_return validation;
}

Task<Result<Validation>> Judge::validate_on(TestRig& rig, PreparedTask& prepared,
                                            Breakdown& spent) {
  Validation validation = CO_TRY(co_await check_all(rig, prepared, spent));
  if (!validation.finding.ok()) co_return validation;
  Validation timed;
  {
    Spending settling(spent, "settle");
    CO_TRY(co_await device_.ready_pool().settle());
  }
  {
    Spending screening(spent, "screen in all");
    timed = CO_TRY(co_await screen(prepared, rig, limits_.screen));
  }
  validation.finding = timed.finding;
  validation.screen = timed.screen;
  for (CaseResult& result : timed.cases) {
    auto known = std::ranges::find(validation.cases, result.name, &CaseResult::name);
    if (known == validation.cases.end()) {
      validation.cases.push_back(std::move(result));
    } else {
      result.rms_error_ratio = known->rms_error_ratio;
      *known = std::move(result);
    }
  }
  co_return validation;
}

Task<Result<Validation>> Judge::check_all(TestRig& rig, PreparedTask& prepared, Breakdown& spent) {
  Spending checking(spent, "checks in all");
  called_ns_ = 0;
  Validation validation;
  std::span<CheckPoint> left = prepared.checks;
  std::size_t groups = 0;
  for (std::size_t size : group_sizes(prepared.checks)) {
    tell(fmt::format("checking {} of {}", prepared.checks.size() - left.size() + 1,
                     prepared.checks.size()));
    std::span<CheckPoint> group = left.first(size);
    left = left.subspan(group.size());
    for (const CheckPoint& point : group) {
      const std::string name = point.at.title();
      if (validation.cases.empty() || validation.cases.back().name != name) {
        validation.cases.push_back({.name = name,
                                    .hidden = point.at.hidden,
                                    .timed = point.at.weight > 0,
                                    .weight = point.at.weight});
      }
    }
    Placement placement = groups++ % 2 == 0 ? Placement::behind : Placement::before;
    validation.finding =
        CO_TRY(co_await check_group(prepared, rig, group, placement, validation.cases.back()));
    if (!validation.finding.ok()) break;
  }
  co_return validation;
}

Task<Result<Validation>> Judge::screen_afresh(PreparedTask& prepared, const Program& candidate,
                                              TimingEffort effort, std::string* counted) {
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
    CaseResult timed;
    result.finding = CO_TRY(co_await time_case(prepared, rig, prepared.timed[i], i, effort, timed));
    if (!result.finding.ok()) co_return result;
    parts.push_back({timed.speedup.median, timed.speedup.low, timed.speedup.high});
    weights.push_back(timed.weight);
    result.cases.push_back(std::move(timed));
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

// Rounds until the interval is narrow or the budget is spent. Every round has new inputs, and every
// output of it is compared.
Task<Result<Finding>> Judge::time_case(PreparedTask& prepared, TestRig& rig, const Case& at,
                                       std::size_t number, TimingEffort effort,
                                       CaseResult& result) {
  constexpr std::size_t kMaxRounds = 400;
  constexpr double kBearable = 0.2;
  result.name = at.title();
  result.timed = true;
  result.weight = at.weight;
  const std::size_t sets = device_.sets_for(at.footprint());
  auto seeds_of = [&](std::size_t round) {
    std::vector<SetInput> seeds;
    std::string purpose = fmt::format("timing {} {} {}", rigs_opened_, number, round);
    for (std::size_t set = 0; set < sets; ++set) seeds.emplace_back(secret_.derive(purpose, set));
    return seeds;
  };
  Placement placement = rigs_opened_ % 2 == 0 ? Placement::behind : Placement::before;
  Finding found =
      CO_TRY(co_await rig.lay_out(prepared.task, at, seeds_of(0), placement, Called::both));
  if (!found.ok()) co_return found;
  Measuring measuring(measured_ns_);
  called_ns_ = 0;

  std::vector<Tolerance> tolerances;
  for (const Tensor& output : at.outputs) {
    tolerances.push_back(prepared.source->tolerance(at, output));
  }
  // How large the numbers are is what errors are measured by. Where it is not known yet, the first
  // round tells it and does not count: until then only what is unwritten or infinite does.
  std::vector<double> scales = prepared.timed_scales[number];
  const bool scales_known = !scales.empty();
  if (scales_known) {
    // Warm-up.
    found = CO_TRY(co_await rig.call(Who::baseline, 0));
    if (found.ok()) found = CO_TRY(co_await call_candidate(rig, 0, sets));
    if (!found.ok()) co_return found;
  } else {
    scales.assign(at.outputs.size(), 1e30);
  }
  TimedSamples samples;
  const std::int64_t deadline = stopwatch_ns() + effort.budget.count();
  const std::int64_t last_deadline = stopwatch_ns() + 8 * effort.budget.count();
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    if (round > 0) CO_TRY(co_await rig.refresh(seeds_of(round)));
    Round timed = CO_TRY(co_await rig.time_round(scales, tolerances));
    if (!timed.finding.ok()) co_return timed.finding;
    for (std::size_t i = 0; i < at.outputs.size(); ++i) {
      found = judge_output(at, at.outputs[i], timed.outputs[i], tolerances[i], -1);
      if (!found.ok()) co_return found;
      if (round == 0 && !scales_known) scales[i] = 4 * timed.outputs[i].rms_value();
    }
    if (round == 0 && !scales_known) {
      prepared.timed_scales[number] = scales;  // of the baseline's numbers: no candidate's doing
      continue;
    }
    const std::int64_t now = stopwatch_ns();
    samples.add(timed, now > deadline || round + 1 == kMaxRounds);
    if (samples.size() == 0) continue;
    Interval ratio = samples.ratio();
    result.speedup = {ratio.median, ratio.low, ratio.high};
    bool enough = samples.size() >= effort.fewest && narrow_enough(ratio, effort.narrow);
    // A machine that gives no peace gets more time before its numbers are called unsteady.
    bool late = now > deadline && samples.size() >= effort.fewest / 2;
    if (enough || (late && narrow_enough(ratio, kBearable)) || now > last_deadline) break;
  }
  result.baseline_seconds = samples.baseline_seconds();
  result.candidate_seconds = samples.candidate_seconds();
  result.disturbed = samples.disturbed();
  result.moved = samples.moved();
  co_return Finding{};
}

}  // namespace specgen
