#include "schedule/device_group.h"

#include <algorithm>

namespace specgen {

JobEntry* DeviceGroup::first_of(Stage stage) const {
  const JobQueue& queue = queues[index(stage)];
  return queue.empty() ? nullptr : *queue.begin();
}

JobEntry* DeviceGroup::first_for(Role role) const {
  JobEntry* first = nullptr;
  for (std::size_t i = 0; i < kStages; ++i) {
    auto stage = static_cast<Stage>(i);
    Role needed = role_for(stage);
    if (needed != Role::any && role != Role::any && needed != role) continue;
    JobEntry* candidate = first_of(stage);
    if (candidate && (!first || DueFirst()(candidate, first))) first = candidate;
  }
  return first;
}

RoleDemand DeviceGroup::demand_of(Role role, Time now) const {
  Stage stage = stage_of(role);
  const JobEntry* next = first_of(stage);
  double service = estimates.service_seconds(stage);
  RoleDemand demand{.queued = static_cast<double>(queues[index(stage)].size()) * service,
                    .service = service,
                    .erlangs = estimates.erlangs(stage, now),
                    .max_wait = next ? seconds(now - next->queued) : 0,
                    .devices = devices[index(role)]};
  if (role == Role::profiling) {
    // What passes its validation will be profiled.
    double validations = estimates.arrivals_per_second(Stage::validate, now);
    double profiles = estimates.arrivals_per_second(Stage::profile, now);
    double passing = validations > 0 ? std::min(1.0, profiles / validations) : 0.5;
    auto on_the_way = static_cast<double>(queues[index(Stage::validate)].size() + validating);
    demand.upcoming = on_the_way * passing * service;
  }
  return demand;
}

}  // namespace specgen
