#pragma once
// How good the kernels are that a simulated model writes. A trace of reasoning has an aim: what its final answer will
// be worth, drawn when it begins from what the history holds. A draft inside the trace or a fork from it comes the
// nearer to that aim the more of the reasoning stands before it.
//
// Successes of one trace go together, as in real ones: where the final answer fails, drafts and forks mostly do.

#include <cstdint>

#include "base/random.h"
#include "simulate/virtual_kernel.h"

namespace specgen {

// Of what is written after a share of the reasoning: value(x) = start + (end - start) · x^shape.
struct Growth {
  double at_start = 0;
  double at_end = 1;
  double shape = 1;
  double at(double share) const;
};

struct SkillSettings {
  double success = 0.45;         // of a main answer
  double repair_success = 0.55;  // of one that mends its parent
  double first_speedup = 1.1;    // median of the first one that is ok
  double ceiling = 8;            // beyond which nobody gets
  double step = 0.12;  // of the way to the ceiling (in logarithms) that an answer gains, on average
  double spread = 0.15;  // of the logarithm of an answer's speedup
  // A fork or draft: how probable it is ok, of the main's probability if that is known to be ok, and how much of the
  // aim's gain it has.
  Growth fork_success{.at_start = 0.25, .at_end = 0.85, .shape = 0.7};
  Growth fork_gain{.at_start = 0.3, .at_end = 1, .shape = 0.7};
  Growth draft_success{.at_start = 0.5, .at_end = 0.85, .shape = 1};
  Growth draft_gain{.at_start = 0.3, .at_end = 1, .shape = 1};
  double hopeless = 0.35;  // of these chances where the main answer fails
  // Some traces know what to write from the beginning, others come to it late: until then their chances are `unripe`
  // times as good.
  double late = 0;                        // share of these
  double late_from = 0.3, late_to = 0.8;  // of the reasoning: when it comes to them
  double unripe = 0.1;
  double draft_repeats = 0.3;  // drafts that say the same as the one before
  bool tunable = false;        // kernels have a specgen:tune line, half of which hold a gain
  double fork_quality = 1;     // times success and gain of forks: the knob of sweeps
};

struct TraceAim {
  KernelTruth answer;  // of the final one
  double base = 1;     // best so far, when the reasoning began
  double hoped = 1;    // what an ok answer is worth, also if this one is not
  double ripe = 0;     // share of the reasoning from which on it knows what to write
};

class Skill {
 public:
  explicit Skill(const SkillSettings& settings) : settings_(settings) {}

  // `best_so_far` is 0 if nothing was ok yet.
  TraceAim aim(double best_so_far, bool repairs, Random& random) const;
  KernelTruth draft(const TraceAim& aim, double share, Random& random) const;
  KernelTruth fork(const TraceAim& aim, double share, Random& random) const;

  const SkillSettings& settings() const { return settings_; }

 private:
  struct Chances {
    double success = 0;
    double gain = 0;
  };
  KernelTruth early(const TraceAim& aim, double share, Chances chances, Random& random) const;

  SkillSettings settings_;
};

}  // namespace specgen
