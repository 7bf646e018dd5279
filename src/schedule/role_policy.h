#pragma once
// When a device should change its role, where that costs time. Pure arithmetic on what the scheduler knows.

#include <cstddef>

namespace specgen {

struct RoleDemand {
  double queued_seconds = 0;  // of work that waits for this role
  double longest_job = 0;     // seconds: the mean service time of the stage
  double erlangs = 0;         // arrival rate × service time, averaged
  std::size_t devices = 0;    // that have this role, busy or idle
};

struct RoleQuestion {
  RoleDemand from;  // the role of the idle device
  RoleDemand to;    // the role that has work waiting
  double cost = 0;  // seconds
};

// Whether an idle device of `from` should leave it and serve what waits for `to`.
bool worth_switching(const RoleQuestion& question);

}  // namespace specgen
