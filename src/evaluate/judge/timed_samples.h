#pragma once
// The timings of one case, collected round by round. Pure.

#include <cstddef>
#include <vector>

#include "evaluate/judge/statistics.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class TimedSamples {
 public:
  // A round in which the device changed its speed does not count, unless `is_late`: then all rounds so far count,
  // because a device that never runs steadily has no better ones.
  void add(const Round& round, bool is_late);

  std::size_t size() const { return baseline_ns_.size(); }  // per program
  Interval ratio() const { return ratio_interval(baseline_ns_, candidate_ns_); }
  double baseline_seconds() const { return 1e-9 * median(baseline_ns_); }
  double candidate_seconds() const { return 1e-9 * median(candidate_ns_); }
  double disturbed() const { return rounds_ > 0 ? disturbed_ / rounds_ : 0; }  // see CaseResult
  // The ratio of the median call to the average over a round, both relative to the baseline and for the candidate alone
  // (the smaller of the two). Above 1 where a few calls do the work of many: they do not show in a median.
  double moved() const;

 private:
  void take(const Round& round);

  std::vector<double> baseline_ns_, candidate_ns_;
  std::vector<double> round_ratios_;  // baseline sum over candidate sum
  std::vector<double> round_means_;   // mean candidate call
  std::vector<Round> spoiled_;
  double rounds_ = 0;
  double disturbed_ = 0;  // sum over rounds
};

}  // namespace specgen
