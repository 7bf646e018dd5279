#pragma once
// Decides when a device should change its role, where that costs time. Pure arithmetic on the scheduler's estimates;
// docs/internals/scheduling.md has the reasons and the study.

#include <cstddef>

namespace specgen {

struct RoleDemand {
  double queued = 0;    // seconds of work queued for this role
  double upcoming = 0;  // seconds of work that will follow from jobs queued or running elsewhere
  double service = 0;   // average seconds per job
  double erlangs = 0;   // average arrival rate × service time
  double max_wait = 0;  // seconds that the next job has waited
  std::size_t devices = 0;  // with this role, busy or idle
};

struct RoleQuestion {
  RoleDemand from;  // the role of an idle device
  RoleDemand to;    // the other role, all of whose devices are busy
  double cost = 0;  // seconds per switch
  double aging = 0;
};

// Whether the idle device should switch and serve a job of the other role.
bool worth_switching(const RoleQuestion& question);

// How many seconds the next job of `to` may wait beside an idle device.
double patience(const RoleQuestion& question);

}  // namespace specgen
