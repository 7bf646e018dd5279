#pragma once
// The speed of a replay: original, instant, or scaled by a factor.

#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct Pace {
  double speed = 1;      // 2: twice as fast
  bool instant = false;  // no waiting at all

  Duration of(Duration recorded) const {
    return instant      ? Duration::zero()
           : speed == 1 ? recorded
                        : from_seconds(seconds(recorded) / speed);
  }
};

// "original", "instant", or a factor such as "10x" or "0.5x".
Result<Pace> parse_pace(std::string_view text);

}  // namespace specgen
