#include "evaluate/judge/timed_samples.h"

#include <numeric>

namespace specgen {
namespace {

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

}  // namespace

void TimedSamples::add(const Round& round, bool is_late) {
  const bool counts = !round.is_spoiled || is_late;
  rounds_ += 1;
  disturbed_ += counts ? round.disturbed : 1;
  if (!counts) return;
  baseline_ns_.insert(baseline_ns_.end(), round.baseline_ns.begin(), round.baseline_ns.end());
  candidate_ns_.insert(candidate_ns_.end(), round.candidate_ns.begin(), round.candidate_ns.end());
  round_ratios_.push_back(sum_of(round.baseline_ns) / sum_of(round.candidate_ns));
}

double TimedSamples::moved() const {
  return ratio().median / median(round_ratios_);
}

}  // namespace specgen
