#pragma once
// The Loop's source of time, randomness and external events. Code above a Driver cannot distinguish real time
// (RealDriver: clock, epoll, other threads) from virtual time (VirtualDriver: the clock jumps from
// one deadline to the next, and the same seed gives the same run). Called by its Loop, on the
// loop's thread; outlives the Loop.

#include <optional>

#include "base/random.h"
#include "base/units.h"

namespace specgen {

class Driver {
 public:
  virtual ~Driver() = default;

  virtual Time now() const = 0;           // monotonic
  virtual WallTime wall_now() const = 0;  // for display only; may jump
  virtual Random& random() = 0;

  // Blocks until the deadline or an external event, whichever is first, and makes the waiters of
  // external events ready. False if there is no deadline and no external event can ever happen.
  virtual bool wait(std::optional<Time> deadline) = 0;

  // Handles pending external events without blocking.
  virtual void poll() = 0;
};

}  // namespace specgen
