#pragma once
// How many spans of each kind overlap at each moment: exact steps where they are few, otherwise averages over equal
// intervals. Private to the pictures.

#include <cstddef>
#include <vector>

#include "base/units.h"

namespace specgen {

struct KindSpan {
  std::size_t kind = 0;
  Duration start{};
  Duration end{};
};

class StepLevels {
 public:
  // Exact if there are at most `max_steps` steps, otherwise averaged.
  StepLevels(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
             std::size_t max_steps);
  // Averages over equal intervals.
  static StepLevels averaged(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
                             std::size_t intervals);

  std::size_t steps() const { return edges_.empty() ? 0 : edges_.size() - 1; }
  Duration begin(std::size_t step) const { return edges_[step]; }
  Duration end(std::size_t step) const { return edges_[step + 1]; }
  double level(std::size_t step, std::size_t kind) const { return levels_[step * kinds_ + kind]; }
  // Sum of the kinds below this one; pass the number of kinds for the sum of all.
  double below(std::size_t step, std::size_t kind) const;
  double highest() const;               // of all kinds together
  double mean(std::size_t kind) const;  // over the whole time
  bool has(std::size_t kind) const;     // above zero anywhere

 private:
  StepLevels() = default;
  std::size_t kinds_ = 0;
  std::vector<Duration> edges_;
  std::vector<double> levels_;  // by step, then by kind
};

}  // namespace specgen
