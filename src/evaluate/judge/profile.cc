// Judge::profile(): timing confirmed in fresh processes, compared with the ceilings of the device, and facts for
// feedback.

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "evaluate/judge/judge.h"
#include "evaluate/judge/profile_facts.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

// Two processes whose speedups differ by more than this factor do not confirm each other.
constexpr double kMaxDrift = 1.35;
constexpr double kWidestInterval = 0.3;

bool agree(const Speedup& a, const Speedup& b) {
  bool overlap = a.low <= b.high && b.low <= a.high;
  double drift = a.median / b.median;
  return overlap || (drift < kMaxDrift && drift > 1 / kMaxDrift);
}

// The geometric mean of an estimate from `count` processes and one from one more.
double mean(double so_far, double one, std::size_t count) {
  auto n = static_cast<double>(count);
  return std::exp((n * std::log(so_far) + std::log(one)) / (n + 1));
}
Speedup joined(const Speedup& so_far, const Speedup& one, std::size_t count) {
  return {mean(so_far.median, one.median, count), mean(so_far.low, one.low, count),
          mean(so_far.high, one.high, count)};
}

bool is_narrow(const Speedup& speedup) {
  return speedup.high - speedup.low <= 2 * kWidestInterval * speedup.median;
}

// The facts joined with the members of `counted`.
std::string with_counted(const std::string& facts, const std::string& counted) {
  auto all = parse_json(facts);
  auto more = parse_json(counted);
  if (!all || !more || !all->is_object() || !more->is_object()) return facts;
  boost::json::object& members = all->get_object();
  for (const auto& member : more->get_object()) members[member.key()] = member.value();
  return compact_json(*all);
}

// The first timed case that is faster than the hardware allows.
const CaseResult* impossible(const std::vector<CaseResult>& cases) {
  constexpr double kMeasuringError = 1.1;
  auto found = std::ranges::find_if(
      cases, [](const CaseResult& result) { return result.peak_fraction > kMeasuringError; });
  return found == cases.end() ? nullptr : &*found;
}

// The first timed case whose calls are faster one by one than all together.
const CaseResult* moving(const std::vector<CaseResult>& cases) {
  constexpr double kMaxMoved = 1.25;
  auto found = std::ranges::find_if(
      cases, [](const CaseResult& result) { return result.moved > kMaxMoved; });
  return found == cases.end() ? nullptr : &*found;
}

// What the timings of a profile say; ok if nothing speaks against them.
Finding judge_timings(const std::vector<CaseResult>& cases, const Speedup& screen,
                      const Speedup& speedup, bool is_confirmed) {
  if (const CaseResult* result = impossible(cases)) {
    return finding(
        Verdict::suspect,
        fmt::format(
            "it takes {} on {}, where this device needs at least {} ({}): it cannot have "
            "done the work",
            format_duration(from_seconds(result->candidate_seconds)), result->name,
            format_duration(from_seconds(result->peak_fraction * result->candidate_seconds)),
            result->limit));
  }
  if (const CaseResult* result = moving(cases)) {
    return finding(
        Verdict::suspect,
        fmt::format("on {} most of its calls are {:.2g} times as fast as the average of a round: a "
                    "few calls do the work of the others",
                    result->name, result->moved));
  }
  if (is_confirmed && is_narrow(speedup)) return {};
  return finding(
      Verdict::unstable_timing,
      fmt::format("its speedup was {:.3g} in one process and {:.3g} ({:.3g} to {:.3g}) in "
                  "another: either the kernel or this machine is not steady",
                  screen.median, speedup.median, speedup.low, speedup.high));
}

}  // namespace

// Where memory is placed differs from process to process and changes the speed by some percent, which no repetition
// within one process can average out.
Task<Result<Validation>> Judge::confirm(PreparedTask& prepared, const Program& candidate,
                                        std::string& counted) {
  const std::size_t processes = device_.info().confirmations;
  TimingEffort effort = limits_.confirm;
  effort.budget /= static_cast<int>(processes);
  effort.min_samples = std::max<std::size_t>(4, effort.min_samples / processes);
  Validation all = CO_TRY(co_await screen_in_fresh_rig(prepared, candidate, effort, &counted));
  for (std::size_t done = 1; done < processes && all.finding.ok(); ++done) {
    Validation one = CO_TRY(co_await screen_in_fresh_rig(prepared, candidate, effort));
    if (!one.finding.ok()) co_return one;
    all.screen = joined(all.screen, one.screen, done);
    for (std::size_t i = 0; i < all.cases.size(); ++i) {
      CaseResult& into = all.cases[i];
      const CaseResult& more = one.cases[i];
      into.speedup = joined(into.speedup, more.speedup, done);
      into.baseline_seconds = mean(into.baseline_seconds, more.baseline_seconds, done);
      into.candidate_seconds = mean(into.candidate_seconds, more.candidate_seconds, done);
      into.moved = mean(into.moved, more.moved, done);
      into.disturbed = std::max(into.disturbed, more.disturbed);
    }
  }
  co_return all;
}

// If a case is faster than the ceilings allow, they may have been measured on a busy machine: then they are measured
// again.
Task<Result<void>> Judge::compare_with_ceilings(const PreparedTask& prepared,
                                                std::vector<CaseResult>& cases) {
  auto compare_all = [&] {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& at = prepared.timed[i];
      CaseResult& result = cases[i];
      Floor floor = floor_of(at, device_.sets_for(at.footprint()), *ceilings_);
      result.peak_fraction = floor.seconds / result.candidate_seconds;
      result.limit = floor.limit;
      result.bytes_per_second = at.min_bytes / result.candidate_seconds;
      result.flops_per_second = at.min_flops / result.candidate_seconds;
    }
  };
  compare_all();
  if (!impossible(cases)) co_return Result<void>();
  CO_TRY(co_await load_ceilings(Ceiling::measured_again));
  compare_all();
  co_return Result<void>();
}

Task<void> Judge::describe_program(const PreparedTask& prepared, const Program& candidate,
                                   std::string& into) {
  auto facts = co_await device_.facts(prepared.task, candidate, prepared.heaviest());
  if (facts) into = compact_json(*facts);  // a profile is useful without them too
}

Task<Result<Profiled>> Judge::profile(PreparedTask& prepared, const Program& candidate,
                                      const Validation& validation) {
  CO_TRY(co_await load_ceilings());
  Profiled profiled;
  std::string facts = "null";
  std::string counted = "null";
  const bool facts_disturb = device_.info().facts_disturb_timing;
  TaskGroup beside(context_.loop);
  if (!facts_disturb) beside.spawn(describe_program(prepared, candidate, facts));
  // A timing that looks impossible or unstable is repeated once in other processes, because noise
  // must not convict. Two confirmations that agree outweigh the screen, which was one process.
  constexpr int kTries = 2;
  std::vector<Speedup> known{validation.screen};
  for (int tries = 1; tries <= kTries; ++tries) {
    report(tries == 1 ? "confirming the timing" : "confirming the timing again");
    Validation confirmed = CO_TRY(co_await confirm(prepared, candidate, counted));
    profiled.finding = std::move(confirmed.finding);
    if (!profiled.finding.ok()) co_return profiled;
    profiled.cases = std::move(confirmed.cases);
    profiled.speedup = confirmed.screen;
    CO_TRY(co_await compare_with_ceilings(prepared, profiled.cases));
    const bool is_confirmed = std::ranges::any_of(
        known, [&](const Speedup& one) { return agree(profiled.speedup, one); });
    profiled.finding =
        judge_timings(profiled.cases, validation.screen, profiled.speedup, is_confirmed);
    if (profiled.finding.ok()) break;
    if (profiled.finding.verdict != Verdict::suspect) known.push_back(profiled.speedup);
  }
  if (!profiled.finding.ok()) co_return profiled;
  report("describing the program");
  if (facts_disturb) co_await describe_program(prepared, candidate, facts);
  CO_TRY(co_await beside.join());
  profiled.facts = with_counted(facts, counted);
  co_return profiled;
}

}  // namespace specgen
