#pragma once
// Devices and the jobs that only they may serve: a backend, all lanes, or in a per-task pool one share of the tasks.
// Plain bookkeeping of the scheduler, which owns it.

#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "schedule/idle_shelf.h"
#include "schedule/role_policy.h"
#include "schedule/scheduler.h"
#include "schedule/service_estimates.h"

namespace specgen {

inline constexpr std::size_t kRoles = 3;

inline std::size_t index(Stage stage) {
  return static_cast<std::size_t>(stage);
}
inline std::size_t index(Role role) {
  return static_cast<std::size_t>(role);
}

// The role that a device must be set up for; any: it does not matter.
inline Role role_for(Stage stage) {
  if (stage == Stage::validate) return Role::validating;
  return stage == Stage::profile ? Role::profiling : Role::any;
}
inline Stage stage_of(Role role) {
  return role == Role::validating ? Stage::validate : Stage::profile;
}
inline Role other(Role role) {
  return role == Role::validating ? Role::profiling : Role::validating;
}

struct JobEntry {
  Job job;
  Time queued;
  Time due;  // when it would start if a rank were `aging` of waiting: the smallest goes first
  std::uint64_t sequence = 0;
  DeviceGroup* group = nullptr;
  ScheduledDevice* device = nullptr;  // where it runs
  Time started{};
};

struct DueFirst {
  bool operator()(const JobEntry* a, const JobEntry* b) const {
    return a->due != b->due ? a->due < b->due : a->sequence < b->sequence;
  }
};
using JobQueue = std::set<JobEntry*, DueFirst>;

struct DeviceGroup {
  explicit DeviceGroup(Duration memory) : estimates(memory) {}

  std::array<JobQueue, kStages> queues;
  std::array<IdleShelf, kRoles> idle;
  std::array<std::size_t, kRoles> devices{};  // usable ones, by role
  ServiceEstimates estimates;
  std::size_t validating = 0;     // jobs that run
  bool is_looked_at = false;      // something may be startable
  std::optional<Time> review_at;  // what waits beside an idle device is worth a switch by then

  JobEntry* first_of(Stage stage) const;  // null: none waits
  JobEntry* first_for(Role role) const;   // of the stages that a device of this role may serve
  RoleDemand demand_of(Role role, Time now) const;
};

}  // namespace specgen
