#pragma once
// Seeded random numbers (xoshiro256**). The same seed gives the same numbers with every compiler, which
// std::*_distribution does not guarantee (exponential, normal and log_normal depend on the math
// library). Code takes its Random from the Loop, never from the system.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace specgen {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // An independent generator: what one component draws does not change what another draws.
  Random fork(std::string_view name);

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), without bias
  double uniform();                          // [0, 1)
  double uniform(double low, double high);   // [low, high)
  bool chance(double probability) { return uniform() < probability; }
  double exponential(double mean);
  double normal(double mean, double deviation);
  double log_normal(double median, double sigma);

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace specgen
