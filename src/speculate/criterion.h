#pragma once
// When reasoning has gone on long enough: a kernel is there that is good enough. It must be news: what repeats a known
// kernel teaches nothing that was worth an iteration. And it must be surely better: the low end of its interval counts,
// or noise would end the reasoning.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "schedule/job.h"

namespace specgen {

struct Criterion {
  enum class Kind : std::uint8_t {
    beats_mean,  // surely faster than the mean of this task's confirmed candidates so far, itself excluded
    beats_best,     // surely faster than the best so far
    target,         // at least `value` times as fast as the baseline
    peak_fraction,  // at least this share of what the hardware allows
    never,
  };
  Kind kind = Kind::beats_mean;
  double value = 0;
};
Result<Criterion> parse_criterion(std::string_view text);  // "beats-mean", "target=2.5"
std::string to_string(const Criterion& criterion);

// What the task has seen so far; with nothing so far mean and best are 1.
struct SpeedupsSoFar {
  double mean = 1;
  double best = 1;
};

// `peak_fraction` of the candidate; 0 if it is not known.
bool is_good_enough(const Criterion& criterion, const Judged& judged, double peak_fraction,
                    const SpeedupsSoFar& so_far);

}  // namespace specgen
