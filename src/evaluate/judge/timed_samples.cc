#include "evaluate/judge/timed_samples.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace specgen {
namespace {

// The first call of a round may run with cold instruction caches, which matters for a kernel of few microseconds.
constexpr double kColdStartNs = 20'000;

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

}  // namespace

void TimedSamples::add(const Round& round, bool is_late) {
  rounds_ += 1;
  disturbed_ += round.is_spoiled ? 1 : round.disturbed;
  if (!round.is_spoiled) return take(round);
  spoiled_.push_back(round);
  if (!is_late) return;
  for (const Round& each : std::exchange(spoiled_, {})) take(each);
}

void TimedSamples::take(const Round& round) {
  baseline_ns_.insert(baseline_ns_.end(), round.baseline_ns.begin(), round.baseline_ns.end());
  candidate_ns_.insert(candidate_ns_.end(), round.candidate_ns.begin(), round.candidate_ns.end());
  const double sum = sum_of(round.candidate_ns);
  const double candidate = std::max(sum - kColdStartNs, sum / 2);
  round_ratios_.push_back(sum_of(round.baseline_ns) / candidate);
  round_means_.push_back(candidate / static_cast<double>(round.candidate_ns.size()));
}

double TimedSamples::moved() const {
  return std::min(ratio().median / median(round_ratios_),
                  median(round_means_) / median(candidate_ns_));
}

}  // namespace specgen
