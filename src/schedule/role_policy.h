#pragma once
// When a device should change its role, where that costs time. Pure arithmetic on what the scheduler knows;
// docs/internals/scheduling.md has the reasons and the study.

#include <cstddef>

namespace specgen {

struct RoleDemand {
  double queued = 0;        // seconds of work that wait for this role
  double upcoming = 0;      // seconds of work that will follow from what waits or runs elsewhere
  double service = 0;       // seconds that one job takes, averaged
  double erlangs = 0;       // arrival rate × service time, averaged
  double max_wait = 0;      // seconds, of the job that is next
  std::size_t devices = 0;  // that have this role, busy or idle
};

struct RoleQuestion {
  RoleDemand from;  // the role of a device that is free
  RoleDemand to;    // the other one, all of whose devices are busy
  double cost = 0;  // seconds that a switch takes
  double aging = 0;
};

// Whether the free device should leave its role and serve what waits for the other.
bool worth_switching(const RoleQuestion& question);

// For how long the job that is next for `to` is left waiting beside an idle device, in seconds.
double patience(const RoleQuestion& question);

}  // namespace specgen
