#include "simulate/skill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace specgen {
namespace {

constexpr double kMinSpeedup = 0.01;
constexpr std::uint64_t kNumbers = std::uint64_t{1} << 48;

// Verdicts of failing kernels; assumed, following published reports: mostly wrong results and compile errors.
constexpr std::array<std::pair<Verdict, double>, 8> kFailures{{
    {Verdict::wrong, 0.40},
    {Verdict::compile_error, 0.30},
    {Verdict::crash, 0.08},
    {Verdict::out_of_bounds, 0.05},
    {Verdict::timeout, 0.05},
    {Verdict::nonfinite, 0.05},
    {Verdict::rejected, 0.04},
    {Verdict::unwritten, 0.03},
}};

Verdict draw_failure(Random& random) {
  double drawn = random.uniform();
  for (auto [verdict, share] : kFailures) {
    if ((drawn -= share) < 0) return verdict;
  }
  return Verdict::wrong;
}

KernelTruth truth_of(bool ok, double speedup, Random& random) {
  return {.verdict = ok ? Verdict::ok : draw_failure(random),
          .speedup = std::max(speedup, kMinSpeedup),
          .poison = false,
          .number = random.below(kNumbers)};
}

}  // namespace

double Growth::at(double share) const {
  return at_start + (at_end - at_start) * std::pow(std::clamp(share, 0.0, 1.0), shape);
}

TraceAim Skill::aim(double best_so_far, bool repairs, Random& random) const {
  bool is_first = best_so_far <= 0;
  double base = is_first ? 1 : best_so_far;
  double level = std::log(is_first ? settings_.first_speedup : base);
  double headroom = std::max(0.0, std::log(settings_.ceiling) - level);
  double gain = is_first ? 0 : headroom * random.uniform(0, 2 * settings_.step);
  double hoped = std::exp(level + gain + random.normal(0, settings_.spread));
  hoped = std::min(hoped, settings_.ceiling);
  bool ok = random.chance(repairs ? settings_.repair_success : settings_.success);
  TraceAim aim{.answer = truth_of(ok, hoped, random), .base = base, .hoped = hoped};
  if (settings_.late > 0 && random.chance(settings_.late)) {
    aim.ripe = random.uniform(settings_.late_from, settings_.late_to);
  }
  return aim;
}

KernelTruth Skill::early(const TraceAim& aim, double share, Chances chances, Random& random) const {
  auto [success, gain] = chances;
  if (aim.answer.verdict != Verdict::ok) success *= settings_.hopeless;
  if (share < aim.ripe) success *= settings_.unripe;
  bool ok = random.chance(success);
  double way = std::log(aim.hoped / aim.base);
  double noise = random.normal(0, settings_.spread / 2);
  double speedup = aim.base * std::exp(way * gain + noise);
  return truth_of(ok, std::min(speedup, settings_.ceiling), random);
}

KernelTruth Skill::draft(const TraceAim& aim, double share, Random& random) const {
  return early(
      aim, share,
      {.success = settings_.draft_success.at(share), .gain = settings_.draft_gain.at(share)},
      random);
}

KernelTruth Skill::fork(const TraceAim& aim, double share, Random& random) const {
  double quality = settings_.fork_quality;
  return early(aim, share,
               {.success = std::min(1.0, quality * settings_.fork_success.at(share)),
                .gain = quality * settings_.fork_gain.at(share)},
               random);
}

}  // namespace specgen
