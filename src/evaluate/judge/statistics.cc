#include "evaluate/judge/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::size_t kExactBelow = 60;

// The largest rank (from 1) whose order statistic and its mirror image enclose the median at 95 %:
// they miss it when fewer than `rank` of n fair coins show heads, or as few show tails.
std::size_t exact_rank(std::size_t n) {
  double term = std::ldexp(1.0, -static_cast<int>(n));  // P(heads = 0)
  double fewer = 0;                                     // P(heads < rank)
  std::size_t rank = 0;
  while (rank < n && 2 * (fewer + term) <= 0.05) {
    fewer += term;
    term *= static_cast<double>(n - rank) / static_cast<double>(rank + 1);
    ++rank;
  }
  return std::max<std::size_t>(rank, 1);
}

std::size_t low_rank(std::size_t n) {
  if (n < kExactBelow) return exact_rank(n);
  auto count = static_cast<double>(n);
  return static_cast<std::size_t>(count / 2 - 0.98 * std::sqrt(count));
}

double middle_of_sorted(const std::vector<double>& sorted) {
  std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[half];
  return std::midpoint(sorted[half - 1], sorted[half]);
}

void sort_samples(std::vector<double>& samples) {
  SG_ASSERT(!samples.empty(), "a median needs samples");
  SG_ASSERT(std::ranges::none_of(samples, [](double sample) { return std::isnan(sample); }),
            "a sample is not a number");
  std::ranges::sort(samples);
}

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

double median(std::vector<double> samples) {
  sort_samples(samples);
  return middle_of_sorted(samples);
}

Interval median_interval(std::vector<double> samples) {
  sort_samples(samples);
  std::size_t rank = low_rank(samples.size());
  return {.median = middle_of_sorted(samples),
          .low = samples[rank - 1],
          .high = samples[samples.size() - rank]};
}

Interval ratio_interval(std::span<const double> numerator, std::span<const double> denominator) {
  SG_ASSERT(numerator.size() == denominator.size(), "ratios need pairs");
  std::vector<double> ratios;
  ratios.reserve(numerator.size());
  for (std::size_t i = 0; i < numerator.size(); ++i) {
    SG_ASSERT(is_positive(numerator[i]) && is_positive(denominator[i]),
              "a timing is finite and above zero");
    ratios.push_back(numerator[i] / denominator[i]);
  }
  return median_interval(std::move(ratios));
}

Interval weighted_geometric_mean(std::span<const Interval> parts, std::span<const double> weights) {
  SG_ASSERT(parts.size() == weights.size(), "every part needs a weight");
  double total = 0;
  for (double weight : weights) {
    SG_ASSERT(std::isfinite(weight) && weight >= 0, "a weight is finite and not negative");
    total += weight;
  }
  SG_ASSERT(total > 0, "some part must have weight");
  double mean = 0;
  double below = 0;  // squares of the half-widths, in log space
  double above = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Interval& part = parts[i];
    if (weights[i] == 0) continue;
    SG_ASSERT(is_positive(part.median) && part.low >= 0 && part.low <= part.median &&
                  part.high >= part.median,
              "an interval encloses its median");
    double share = weights[i] / total;
    mean += share * std::log(part.median);
    below += std::pow(share * std::log(part.median / part.low), 2);
    above += std::pow(share * std::log(part.high / part.median), 2);
  }
  return {.median = std::exp(mean),
          .low = std::exp(mean - std::sqrt(below)),
          .high = std::exp(mean + std::sqrt(above))};
}

double relative_half_width(Interval interval) {
  return (interval.high - interval.low) / 2 / interval.median;
}

bool narrow_enough(Interval interval, double share) {
  return relative_half_width(interval) <= share;
}

}  // namespace specgen
