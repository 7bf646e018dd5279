#pragma once
// The quality of the kernels that a virtual model writes. A reasoning trace has an aim: the value of its final
// answer, drawn at its beginning from the best result so far. A draft in the trace or a fork from it is closer to
// that aim the more of the reasoning precedes it.
//
// Successes of one trace are correlated, as in real ones: where the final answer fails, most drafts and forks fail
// too.

#include <cstdint>

#include "base/random.h"
#include "simulate/virtual_kernel.h"

namespace specgen {

// As a function of the share of the reasoning: value(x) = start + (end - start) · x^shape.
struct Growth {
  double at_start = 0;
  double at_end = 1;
  double shape = 1;
  double at(double share) const;
};

struct SkillSettings {
  double success = 0.45;         // of a main answer
  double repair_success = 0.55;  // of one that repairs its parent
  double first_speedup = 1.1;    // median of the first ok answer
  double ceiling = 8;            // maximum speedup
  double step = 0.12;  // mean share of the way to the ceiling (in logarithms) that an answer gains
  double spread = 0.15;  // of the logarithm of the speedup
  // Of a fork or draft: the probability that it is ok, relative to the main answer if that is ok, and the share of the
  // gain of the aim.
  Growth fork_success{.at_start = 0.25, .at_end = 0.85, .shape = 0.7};
  Growth fork_gain{.at_start = 0.3, .at_end = 1, .shape = 0.7};
  Growth draft_success{.at_start = 0.5, .at_end = 0.85, .shape = 1};
  Growth draft_gain{.at_start = 0.3, .at_end = 1, .shape = 1};
  double hopeless = 0.35;  // factor of these probabilities where the main answer fails
  // Some traces know what to write from the beginning, others only later: until then their probabilities are multiplied
  // by `unripe`.
  double late = 0;                        // share of late traces
  double late_from = 0.3, late_to = 0.8;  // share of the reasoning at which they know
  double unripe = 0.1;
  double draft_repeats = 0.3;  // probability that a draft repeats the previous one
  bool tunable = false;        // kernels have a specgen:tune line, half of them with a gain
  double fork_quality = 1;     // factor of success and gain of forks, for sweeps
};

struct TraceAim {
  KernelTruth answer;  // the final answer
  double base = 1;     // best speedup when the reasoning began
  double hoped = 1;    // speedup of an ok answer, even if this one fails
  double ripe = 0;     // share of the reasoning after which it knows what to write
};

class Skill {
 public:
  explicit Skill(const SkillSettings& settings) : settings_(settings) {}

  // `best_so_far`: 0 if no kernel was ok yet.
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
