#pragma once
// How much was under way at each moment, by kind: steps over time, exact where they are few, else averages over equal
// stretches. Private to the pictures.

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
  // Steps between `max_steps` moments at most.
  StepLevels(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
             std::size_t max_steps);
  // Averages over `stretches` equal parts.
  static StepLevels averaged(const std::vector<KindSpan>& spans, std::size_t kinds, Duration end,
                             std::size_t stretches);

  std::size_t steps() const { return edges_.empty() ? 0 : edges_.size() - 1; }
  Duration begin(std::size_t step) const { return edges_[step]; }
  Duration end(std::size_t step) const { return edges_[step + 1]; }
  double level(std::size_t step, std::size_t kind) const { return levels_[step * kinds_ + kind]; }
  // Of the kinds below this one; of all, with the number of kinds.
  double below(std::size_t step, std::size_t kind) const;
  double highest() const;               // of all kinds together
  double mean(std::size_t kind) const;  // over the whole time
  bool has(std::size_t kind) const;     // it is above zero somewhere

 private:
  StepLevels() = default;
  std::size_t kinds_ = 0;
  std::vector<Duration> edges_;
  std::vector<double> levels_;  // kinds of the first step, of the second, ...
};

}  // namespace specgen
