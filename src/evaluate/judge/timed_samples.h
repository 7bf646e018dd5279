#pragma once
// The timings of one case, round by round: which of them count, and what they say. Pure.

#include <cstddef>
#include <vector>

#include "evaluate/judge/statistics.h"
#include "evaluate/judge/test_rig.h"

namespace specgen {

class TimedSamples {
 public:
  // A round in which the device changed its pace does not count. When it is late all do: on a device that knows no
  // peace, what there is must do.
  void add(const Round& round, bool is_late);

  std::size_t size() const { return baseline_ns_.size(); }  // of each program's
  Interval ratio() const { return ratio_interval(baseline_ns_, candidate_ns_); }
  double baseline_seconds() const { return 1e-9 * median(baseline_ns_); }
  double candidate_seconds() const { return 1e-9 * median(candidate_ns_); }
  double disturbed() const { return rounds_ > 0 ? disturbed_ / rounds_ : 0; }  // see CaseResult
  // How many times faster single calls look than whole rounds of them, against the baseline and by the candidate alone.
  // Above 1 where work moves from call to call: most calls are then short, and the few that do it all do not show in a
  // median.
  double moved() const;

 private:
  void take(const Round& round);

  std::vector<double> baseline_ns_, candidate_ns_;
  std::vector<double> round_ratios_;  // of the sums
  std::vector<double> round_means_;   // of the candidate's
  std::vector<Round> spoiled_;
  double rounds_ = 0;
  double disturbed_ = 0;  // rounds
};

}  // namespace specgen
