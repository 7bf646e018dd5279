// Judge::tune(): tunables by successive halving. The default values have been validated; the others compete here.

#include <fmt/core.h>

#include <algorithm>

#include "evaluate/judge/judge.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxCombinations = 64;

// Every combination but the known one, in the order of the directives, at most kMaxCombinations.
std::vector<Values> combinations(const std::vector<Tunable>& tunables, const Values& known) {
  std::vector<Values> all{Values{}};
  for (const Tunable& tunable : tunables) {
    std::vector<Values> more;
    for (const Values& so_far : all) {
      for (std::int64_t value : tunable.values) {
        if (more.size() >= 4 * kMaxCombinations) break;
        Values next = so_far;
        next[tunable.name] = value;
        more.push_back(std::move(next));
      }
    }
    all = std::move(more);
  }
  std::erase(all, known);
  if (all.size() > kMaxCombinations) all.resize(kMaxCombinations);
  return all;
}

struct Contender {
  Program program;
  Speedup screen;
};

}  // namespace

Task<Result<Tuned>> Judge::tune(PreparedTask& prepared, const Program& validated,
                                const Validation& validation) {
  Tuned tuned{.best = validated.tunables, .program = validated, .screen = validation.screen};
  const std::int64_t deadline = stopwatch_ns() + limits_.sweep.count();
  auto late = [&] { return stopwatch_ns() > deadline; };
  std::vector<Values> all = combinations(validated.directives.tunables, validated.tunables);
  tuned.combinations = all.size() + 1;
  std::vector<Contender> contenders;
  TimingEffort effort = limits_.screen;
  effort.budget /= 8;
  for (Values& values : all) {
    if (late()) break;
    report(fmt::format("tuning: {} of {} combinations", tuned.tried + 1, all.size()));
    ++tuned.tried;
    // Nothing is timed while a program compiles, so its rig can be started then.
    CO_TRY(device_.ready_pool().replenish(
        1, std::min(device_.ready_pool().capacity(), all.size() - tuned.tried + 1)));
    Compiled compiled = CO_TRY(co_await compile(prepared, validated.source, std::move(values)));
    if (!compiled.finding.ok()) continue;
    Validation quick = CO_TRY(co_await screen_in_fresh_rig(prepared, compiled.program, effort));
    if (quick.finding.ok()) contenders.push_back({std::move(compiled.program), quick.screen});
  }
  auto faster = [](const Contender& a, const Contender& b) {
    return a.screen.median > b.screen.median;
  };
  // The faster half stays, with twice the time, until one is left.
  while (contenders.size() > 1 && !late()) {
    std::ranges::sort(contenders, faster);
    contenders.resize((contenders.size() + 1) / 2);
    if (contenders.size() == 1) break;
    effort.budget *= 2;
    for (Contender& contender : contenders) {
      Validation longer = CO_TRY(co_await screen_in_fresh_rig(prepared, contender.program, effort));
      if (longer.finding.ok()) contender.screen = longer.screen;
    }
  }
  std::ranges::sort(contenders, faster);
  if (contenders.empty()) co_return tuned;
  // The winner must be faster than the default beyond its interval, timed equally long.
  Validation last =
      CO_TRY(co_await screen_in_fresh_rig(prepared, contenders.front().program, limits_.screen));
  if (last.finding.ok() && last.screen.low > tuned.screen.median) {
    tuned.best = contenders.front().program.tunables;
    tuned.program = std::move(contenders.front().program);
    tuned.screen = last.screen;
  }
  co_return tuned;
}

}  // namespace specgen
