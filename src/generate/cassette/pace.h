#pragma once
// How fast a recording is played: in its own time, at once, or some times faster.

#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct Pace {
  double speed = 1;      // twice as fast: 2
  bool instant = false;  // or at once

  Duration of(Duration recorded) const {
    return instant      ? Duration::zero()
           : speed == 1 ? recorded
                        : from_seconds(seconds(recorded) / speed);
  }
};

// "original", "instant", or a factor such as "10x" or "0.5x".
Result<Pace> parse_pace(std::string_view text);

}  // namespace specgen
