#pragma once
// Medians of noisy timings and their confidence intervals. No distribution of the noise is assumed: intervals are order
// statistics, so a few outliers change nothing.
// Pure functions; samples are never empty, and timings are finite and above zero (asserted).

#include <span>
#include <vector>

namespace specgen {

struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

double median(std::vector<double> samples);

// At 95 % or a little above; with fewer than six samples it is [min, max], which has a lower confidence.
Interval median_interval(std::vector<double> samples);

// Of numerator[i] / denominator[i]: a disturbance of both cancels out.
Interval ratio_interval(std::span<const double> numerator, std::span<const double> denominator);

// The parts are independent measurements, all above zero. Weights need not add up to one; a part of
// weight zero does not count.
Interval weighted_geometric_mean(std::span<const Interval> parts, std::span<const double> weights);

// Half of high - low, as a share of the median.
double relative_half_width(Interval interval);
bool narrow_enough(Interval interval, double share);

}  // namespace specgen
