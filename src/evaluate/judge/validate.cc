// Judge::validate(): is a candidate correct on every case? One that is gets a first estimate of its speed (timing.cc).

#include <fmt/core.h>

#include <algorithm>

#include "evaluate/judge/judge.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

// The sizes of groups of neighbouring points with the same shape, which are laid out together.
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

CaseResult not_run(const Case& at) {
  return {.name = at.title(), .hidden = at.hidden, .timed = at.weight > 0, .weight = at.weight};
}

// The cases of a task in the order in which they are checked, then those that are only timed. A case
// that is checked with several seeds is listed once: `of_check` has the index of each check's case.
struct CaseList {
  std::vector<CaseResult> cases;
  std::vector<std::size_t> of_check;
};
CaseList list_cases(const PreparedTask& prepared) {
  CaseList list;
  for (const CheckPoint& point : prepared.checks) {
    if (list.cases.empty() || list.cases.back().name != point.at.title()) {
      list.cases.push_back(not_run(point.at));
    }
    list.of_check.push_back(list.cases.size() - 1);
  }
  for (const Case& at : prepared.timed) {
    if (std::ranges::find(list.cases, at.title(), &CaseResult::name) == list.cases.end()) {
      list.cases.push_back(not_run(at));
    }
  }
  return list;
}

}  // namespace

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
    validation = CO_TRY(co_await check_and_screen(*rig, prepared, spent));
    add(spent, rig->breakdown());
    Spending closing(spent, "close");
    rig.reset();
  }
  validation.breakdown = std::move(spent);
  co_return validation;
}

Task<Result<Validation>> Judge::check_and_screen(TestRig& rig, PreparedTask& prepared,
                                                 Breakdown& spent) {
  Validation validation = CO_TRY(co_await check_all(rig, prepared, spent));
  if (!validation.finding.ok()) co_return validation;
  {
    Spending settling(spent, "settle");
    CO_TRY(co_await device_.ready_pool().settle());
  }
  Validation timed;
  {
    Spending screening(spent, "screen in all");
    timed = CO_TRY(co_await screen(prepared, rig, limits_.screen));
  }
  validation.finding = timed.finding;
  validation.screen = timed.screen;
  for (CaseResult& result : timed.cases) {
    auto known = std::ranges::find(validation.cases, result.name, &CaseResult::name);
    result.rms_error_ratio = known->rms_error_ratio;
    *known = std::move(result);
  }
  co_return validation;
}

Task<Result<Validation>> Judge::check_all(TestRig& rig, PreparedTask& prepared, Breakdown& spent) {
  Spending checking(spent, "checks in all");
  called_ns_ = 0;
  CaseList list = list_cases(prepared);
  std::vector<CaseResult*> results;
  for (std::size_t index : list.of_check) results.push_back(&list.cases[index]);
  Validation validation;
  std::size_t done = 0, groups = 0;
  for (std::size_t size : group_sizes(prepared.checks)) {
    report(fmt::format("checking {} of {}", done + 1, prepared.checks.size()));
    // From group to group the tensors touch the other guard.
    Placement placement = groups++ % 2 == 0 ? Placement::behind : Placement::before;
    validation.finding =
        CO_TRY(co_await check_group(prepared, rig, std::span(prepared.checks).subspan(done, size),
                                    placement, std::span(results).subspan(done, size)));
    if (!validation.finding.ok()) break;
    done += size;
  }
  validation.cases = std::move(list.cases);
  co_return validation;
}

// Points of one shape, each on its own set of tensors.
Task<Result<Finding>> Judge::check_group(PreparedTask& prepared, TestRig& rig,
                                         std::span<CheckPoint> points, Placement placement,
                                         std::span<CaseResult*> results) {
  Case at = points.front().at;
  std::vector<SetInput> sets;
  for (const CheckPoint& point : points) sets.emplace_back(point.seed, point.at.draw - at.draw);
  const bool is_baseline_known = std::ranges::none_of(
      points, [](const CheckPoint& point) { return point.baseline_rms.empty(); });
  Finding found =
      CO_TRY(co_await rig.lay_out(prepared.task, std::move(at), std::move(sets), placement,
                                  is_baseline_known ? Called::candidate : Called::both));
  if (!found.ok()) results.front()->status = CaseStatus::failed;
  Measuring measuring(measured_ns_);
  for (std::size_t set = 0; set < points.size() && found.ok(); ++set) {
    found = CO_TRY(co_await check(prepared, rig, set, points[set], *results[set]));
    results[set]->status = found.ok() ? CaseStatus::passed : CaseStatus::failed;
    if (!found.ok()) found.evidence.case_name = points[set].at.title();
  }
  co_return found;
}

Task<Result<Finding>> Judge::check(PreparedTask& prepared, TestRig& rig, std::size_t set,
                                   CheckPoint& point, CaseResult& result) {
  if (point.baseline_rms.empty()) CO_TRY(co_await check_baseline(prepared, rig, set, point));
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
  if (!prepared.task.check.deterministic) co_return Finding{};
  std::uint64_t first = CO_TRY(co_await rig.digest(set));
  found = CO_TRY(co_await call_candidate(rig, set, 1));
  if (!found.ok()) co_return found;
  if (CO_TRY(co_await rig.digest(set)) == first) co_return Finding{};
  co_return Finding{Verdict::nondeterministic,
                    {.text = "a second call on the same input gave different bits; this task "
                             "requires the same bits every time",
                     .case_name = point.at.title()}};
}

// The baseline is checked like a candidate, once: its error is the measure for the candidates' error.
Task<Result<void>> Judge::check_baseline(PreparedTask& prepared, TestRig& rig, std::size_t set,
                                         CheckPoint& point) {
  Finding found = CO_TRY(co_await rig.call(Who::baseline, set));
  std::vector<double> errors;
  if (found.ok()) {
    auto reports = CO_TRY(co_await rig.compare_outputs(set, point.expected, point.tolerances));
    for (std::size_t i = 0; i < reports.size() && found.ok(); ++i) {
      found = judge_output(point.at, point.at.outputs[i], reports[i], point.tolerances[i], -1);
      errors.push_back(reports[i].rms_error());
    }
  }
  if (!found.ok()) {
    co_return fail(ErrorCode::bad_task,
                   fmt::format("{}: the {} baseline is judged {} on {}: {}", prepared.task.title(),
                               to_string(device_.info().backend), to_string(found.verdict),
                               point.at.title(), found.evidence.text));
  }
  point.baseline_rms = std::move(errors);
  co_return Result<void>();
}

// Calls that each stay just below their limit could still hold the device for minutes, so their sum is limited too.
// `calls_to_come`: how many calls of this length will follow, this one included.
Task<Result<Finding>> Judge::call_candidate(TestRig& rig, std::size_t set,
                                            std::size_t calls_to_come) {
  constexpr int kMaxTogether = 6;  // times the limit of one
  const Duration limit = kMaxTogether * limits_.call;
  const std::int64_t start = stopwatch_ns();
  Finding found = CO_TRY(co_await rig.call(Who::candidate, set));
  called_ns_ += static_cast<std::int64_t>(calls_to_come) * (stopwatch_ns() - start);
  if (found.ok() && called_ns_ > limit.count()) {
    found = finding(Verdict::timeout,
                    fmt::format("its calls took more than {} together", format_duration(limit)));
  }
  co_return found;
}

}  // namespace specgen
