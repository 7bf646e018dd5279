#pragma once
// Where time, chance and outside events come from. The code above a Driver does not know whether
// the runtime is real (RealDriver) or virtual (VirtualDriver, which jumps from one deadline to the
// next).

#include <optional>

#include "base/random.h"
#include "base/units.h"

namespace specgen {

class Driver {
 public:
  virtual ~Driver() = default;

  virtual Time now() const = 0;           // monotonic
  virtual WallTime wall_now() const = 0;  // a label for people; may jump
  virtual Random& random() = 0;

  // Waits for the deadline or an outside event, whichever is first, and makes the waiters of
  // outside events ready. False if there is no deadline and nothing outside can ever come.
  virtual bool wait(std::optional<Time> deadline) = 0;

  // Takes what has come from outside without waiting.
  virtual void poll() = 0;
};

}  // namespace specgen
