// Judge: confirmed timing in fresh processes, the laws of physics, and facts for feedback.

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "evaluate/judge/judge.h"
#include "evaluate/judge/profile_facts.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

// A timing that differs more than this between two processes is no timing.
constexpr double kMaxDrift = 1.35;
constexpr double kWidestInterval = 0.3;

bool agree(const Speedup& a, const Speedup& b) {
  bool overlap = a.low <= b.high && b.low <= a.high;
  double drift = a.median / b.median;
  return overlap || (drift < kMaxDrift && drift > 1 / kMaxDrift);
}

// The geometric mean of `lives` estimates and one more.
double mean(double so_far, double one, std::size_t lives) {
  auto n = static_cast<double>(lives);
  return std::exp((n * std::log(so_far) + std::log(one)) / (n + 1));
}
Speedup joined(const Speedup& so_far, const Speedup& one, std::size_t lives) {
  return {mean(so_far.median, one.median, lives), mean(so_far.low, one.low, lives),
          mean(so_far.high, one.high, lives)};
}

bool is_narrow(const Speedup& speedup) {
  return speedup.high - speedup.low <= 2 * kWidestInterval * speedup.median;
}

// The facts with the members that a rig has counted, if it has.
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

}  // namespace

void Judge::judge_physics(const Case& at, CaseResult& result) const {
  Floor floor = floor_of(at, device_.sets_for(at.footprint()), *ceilings_);
  result.peak_fraction = floor.seconds / result.candidate_seconds;
  result.limit = floor.limit;
  result.bytes_per_second = at.min_bytes / result.candidate_seconds;
  result.flops_per_second = at.min_flops / result.candidate_seconds;
}

// Where memory lies differs from process to process, and with it the speed, by some percent that no
// repetition within one process takes away.
Task<Result<Validation>> Judge::confirm(PreparedTask& prepared, const Program& candidate,
                                        std::string& counted) {
  const std::size_t lives = device_.info().confirmations;
  TimingEffort effort = limits_.confirm;
  effort.budget /= static_cast<int>(lives);
  effort.fewest = std::max<std::size_t>(4, effort.fewest / lives);
  Validation all;
  for (std::size_t life = 0; life < lives; ++life) {
    Validation one =
        CO_TRY(co_await screen_afresh(prepared, candidate, effort, life == 0 ? &counted : nullptr));
    if (!one.finding.ok() || life == 0) {
      all = std::move(one);
      if (!all.finding.ok()) co_return all;
      continue;
    }
    all.screen = joined(all.screen, one.screen, life);
    for (std::size_t i = 0; i < all.cases.size(); ++i) {
      all.cases[i].speedup = joined(all.cases[i].speedup, one.cases[i].speedup, life);
      all.cases[i].baseline_seconds =
          mean(all.cases[i].baseline_seconds, one.cases[i].baseline_seconds, life);
      all.cases[i].candidate_seconds =
          mean(all.cases[i].candidate_seconds, one.cases[i].candidate_seconds, life);
      all.cases[i].moved = mean(all.cases[i].moved, one.cases[i].moved, life);
      all.cases[i].disturbed = std::max(all.cases[i].disturbed, one.cases[i].disturbed);
    }
  }
  co_return all;
}

Task<void> Judge::look_at_program(const PreparedTask& prepared, const Program& candidate,
                                  std::string& into) {
  auto facts = co_await device_.facts(prepared.task, candidate, prepared.heaviest());
  if (facts) into = compact_json(*facts);  // a profile without them is still one
}

Task<Result<Profiled>> Judge::profile(PreparedTask& prepared, const Program& candidate,
                                      const Validation& validation) {
  CO_TRY(co_await know_ceilings());
  Profiled profiled;
  std::string facts = "null";
  std::string counted = "null";
  TaskGroup beside(context_.loop);
  if (!device_.info().facts_disturb_timing)
    beside.spawn(look_at_program(prepared, candidate, facts));
  // What looks impossible or unsteady gets a second chance in yet other processes: noise must not
  // convict, and luck must not acquit. Two confirmations that agree outweigh the screen, which was one process.
  constexpr int kTries = 2;
  std::vector<Speedup> known{validation.screen};
  for (int tries = 1; tries <= kTries; ++tries) {
    tell(tries == 1 ? "confirming the timing" : "confirming the timing again");
    Validation confirmed = CO_TRY(co_await confirm(prepared, candidate, counted));
    profiled.finding = std::move(confirmed.finding);
    if (!profiled.finding.ok()) co_return profiled;
    profiled.cases = std::move(confirmed.cases);
    profiled.speedup = confirmed.screen;
    for (std::size_t i = 0; i < profiled.cases.size(); ++i) {
      judge_physics(prepared.timed[i], profiled.cases[i]);
    }
    if (impossible(profiled.cases)) {
      // Perhaps the ceilings were measured on a busy machine.
      CO_TRY(co_await know_ceilings(Ceiling::measured_again));
      for (std::size_t i = 0; i < profiled.cases.size(); ++i) {
        judge_physics(prepared.timed[i], profiled.cases[i]);
      }
    }
    const bool is_steady = std::ranges::any_of(
        known, [&](const Speedup& one) { return agree(profiled.speedup, one); });
    // What cannot be vouches for nothing.
    if (!impossible(profiled.cases) && !moving(profiled.cases)) known.push_back(profiled.speedup);
    if (const CaseResult* result = impossible(profiled.cases)) {
      profiled.finding = finding(
          Verdict::suspect,
          fmt::format(
              "it takes {} on {}, where this device needs at least {} ({}): it cannot have "
              "done the work",
              format_duration(from_seconds(result->candidate_seconds)), result->name,
              format_duration(from_seconds(result->peak_fraction * result->candidate_seconds)),
              result->limit));
    } else if (const CaseResult* mover = moving(profiled.cases)) {
      profiled.finding = finding(
          Verdict::suspect,
          fmt::format("on {} most of its calls are {:.2g} times as fast as a whole round of them: "
                      "few calls do the work of all",
                      mover->name, mover->moved));
    } else if (!is_steady || !is_narrow(profiled.speedup)) {
      profiled.finding = finding(
          Verdict::unstable_timing,
          fmt::format("its speedup was {:.3g} in one process and {:.3g} ({:.3g} to {:.3g}) in "
                      "another: either it or this machine is not steady",
                      validation.screen.median, profiled.speedup.median, profiled.speedup.low,
                      profiled.speedup.high));
    } else {
      break;
    }
  }
  if (!profiled.finding.ok()) co_return profiled;
  tell("looking at the program");
  if (device_.info().facts_disturb_timing) co_await look_at_program(prepared, candidate, facts);
  CO_TRY(co_await beside.join());
  profiled.facts = with_counted(facts, counted);
  co_return profiled;
}

}  // namespace specgen
