#include "report/step_levels.h"

#include <algorithm>

namespace specgen {

StepLevels::StepLevels(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
                       std::size_t max_steps) {
  if (end <= Duration{}) return;
  std::vector<Duration> moments{Duration{}, end};
  for (const KindSpan& span : spans) {
    moments.push_back(std::clamp(span.start, Duration{}, end));
    moments.push_back(std::clamp(span.end, Duration{}, end));
  }
  std::ranges::sort(moments);
  moments.erase(std::ranges::unique(moments).begin(), moments.end());
  if (moments.size() - 1 > max_steps) {
    *this = averaged(spans, kinds, end, max_steps);
    return;
  }
  kinds_ = kinds;
  edges_ = std::move(moments);
  levels_.assign(steps() * kinds, 0);
  auto step_at = [&](Duration moment) {
    auto edge = std::ranges::lower_bound(edges_, std::clamp(moment, Duration{}, end));
    return static_cast<std::size_t>(edge - edges_.begin());
  };
  // Differences first, then prefix sums: the cost does not depend on the length of spans.
  for (const KindSpan& span : spans) {
    const std::size_t first = step_at(span.start), end_step = step_at(span.end);
    if (first >= end_step) continue;
    levels_[first * kinds + span.kind] += 1;
    if (end_step < steps()) levels_[end_step * kinds + span.kind] -= 1;
  }
  for (std::size_t i = kinds; i < levels_.size(); ++i) levels_[i] += levels_[i - kinds];
}

StepLevels StepLevels::averaged(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
                                std::size_t intervals) {
  StepLevels result;
  if (end <= Duration{}) return result;
  const double width = seconds(end) / static_cast<double>(intervals);
  result.kinds_ = kinds;
  for (std::size_t i = 0; i <= intervals; ++i) {
    result.edges_.push_back(i == intervals ? end : from_seconds(static_cast<double>(i) * width));
  }
  result.levels_.assign(intervals * kinds, 0);
  for (const KindSpan& span : spans) {
    const double from = std::clamp(seconds(span.start), 0.0, seconds(end)) / width;
    const double to = std::clamp(seconds(span.end), 0.0, seconds(end)) / width;
    for (auto i = static_cast<std::size_t>(from); i < intervals && static_cast<double>(i) < to;
         ++i) {
      const double low = std::max(from, static_cast<double>(i));
      const double high = std::min(to, static_cast<double>(i + 1));
      if (high > low) result.levels_[i * kinds + span.kind] += high - low;
    }
  }
  return result;
}

double StepLevels::below(std::size_t step, std::size_t kind) const {
  double sum = 0;
  for (std::size_t i = 0; i < kind; ++i) sum += level(step, i);
  return sum;
}

double StepLevels::highest() const {
  double highest = 0;
  for (std::size_t i = 0; i < steps(); ++i) highest = std::max(highest, below(i, kinds_));
  return highest;
}

double StepLevels::mean(std::size_t kind) const {
  double sum = 0;
  for (std::size_t i = 0; i < steps(); ++i) sum += level(i, kind) * seconds(end(i) - begin(i));
  return steps() == 0 ? 0 : sum / seconds(edges_.back());
}

bool StepLevels::has(std::size_t kind) const {
  for (std::size_t i = 0; i < steps(); ++i) {
    if (level(i, kind) > 0) return true;
  }
  return false;
}

}  // namespace specgen
