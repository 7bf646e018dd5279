#pragma once
// The scheduler's bookkeeping of what may serve what: devices, the idle ones among them, and the queues of the
// jobs that
// only they may serve. Plain data with the queries that a decision needs; owned by the scheduler. Putting, taking and
// choosing an idle device is O(1).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>

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

// The role that a device must be set up for; any: every device will do.
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

struct DeviceGroup;
struct ScheduledDevice;

// The links of a device in one intrusive list.
struct ListLinks {
  ScheduledDevice* before = nullptr;
  ScheduledDevice* after = nullptr;
};

struct ScheduledDevice {
  DeviceId id;
  std::uint32_t backend = 0;
  std::uint32_t host = 0;
  bool is_compile_slot = false;
  bool usable = true;
  bool busy = false;
  std::uint32_t last_task = 0;  // that it served; 0: none yet
  Role role = Role::any;        // what it may serve
  Role set_up_for = Role::any;  // what it served last; changing that takes the switching cost
  Time switched_at{};
  DeviceGroup* group = nullptr;

  ListLinks among_all = {};
  ListLinks of_task = {};
  ListLinks of_host = {};
};

// Last in, first out.
template <ListLinks ScheduledDevice::* links>
class DeviceStack {
 public:
  ScheduledDevice* top() const { return top_; }
  ScheduledDevice* bottom() const { return bottom_; }
  void push(ScheduledDevice& device) {
    device.*links = {.before = nullptr, .after = top_};
    (top_ ? (top_->*links).before : bottom_) = &device;
    top_ = &device;
  }
  void remove(ScheduledDevice& device) {
    auto [before, after] = device.*links;
    (before ? (before->*links).after : top_) = after;
    (after ? (after->*links).before : bottom_) = before;
    device.*links = {};
  }

 private:
  ScheduledDevice* top_ = nullptr;
  ScheduledDevice* bottom_ = nullptr;
};

// Idle devices of one group and role. The devices that best_for() passes over stay idle for long, so that their memory
// can be shared.
class IdlePool {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void put(ScheduledDevice& device) {
    all_.push(device);
    by_task_[device.last_task].push(device);
    by_host_[device.host].push(device);
    ++size_;
  }
  void take(ScheduledDevice& device) {
    all_.remove(device);
    by_task_[device.last_task].remove(device);
    by_host_[device.host].remove(device);
    --size_;
  }
  // A device that has prepared the job's task, else one on the host that has its program, else the one used last. The
  // pool must not be empty.
  ScheduledDevice& best_for(const Job& job) const {
    if (auto of_task = by_task_.find(job.task); of_task != by_task_.end()) {
      if (ScheduledDevice* device = of_task->second.top()) return *device;
    }
    if (auto of_host = by_host_.find(job.host); job.host != 0 && of_host != by_host_.end()) {
      if (ScheduledDevice* device = of_host->second.top()) return *device;
    }
    return *all_.top();
  }
  // For compile slots, so that programs spread over the hosts.
  ScheduledDevice& idle_longest() const { return *all_.bottom(); }

 private:
  std::size_t size_ = 0;
  DeviceStack<&ScheduledDevice::among_all> all_;
  std::unordered_map<std::uint32_t, DeviceStack<&ScheduledDevice::of_task>> by_task_;
  std::unordered_map<std::uint32_t, DeviceStack<&ScheduledDevice::of_host>> by_host_;
};

struct JobEntry {
  Job job;
  Time queued;
  Time due;  // `queued` plus `aging` for each rank: the smallest starts first
  std::uint64_t sequence = 0;
  DeviceGroup* group = nullptr;
  ScheduledDevice* device = nullptr;  // where it runs; null: queued
  Time started{};
};

struct DueFirst {
  bool operator()(const JobEntry* a, const JobEntry* b) const {
    return a->due != b->due ? a->due < b->due : a->sequence < b->sequence;
  }
};
using JobQueue = std::set<JobEntry*, DueFirst>;

// The devices of a backend, all compile slots, or in a per-task pool the devices of one share of the tasks.
struct DeviceGroup {
  explicit DeviceGroup(Duration memory) : estimates(memory) {}

  std::array<JobQueue, kStages> queues;
  std::array<IdlePool, kRoles> idle;
  std::array<std::size_t, kRoles> devices{};  // usable ones, by role
  ServiceEstimates estimates;
  std::size_t validating = 0;  // running validations
  bool is_to_check = false;    // a job may be able to start
  std::optional<Time>
      review_at;  // when a job that waits beside an idle device is worth a role switch

  // The job of the stage that is due first; null: none is queued.
  JobEntry* first_of(Stage stage) const {
    const JobQueue& queue = queues[index(stage)];
    return queue.empty() ? nullptr : *queue.begin();
  }

  // The job that is due first of all stages that a device of this role may serve.
  JobEntry* first_for(Role role) const {
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

  RoleDemand demand_of(Role role, Time now) const {
    Stage stage = stage_of(role);
    const JobEntry* next = first_of(stage);
    double service = estimates.service_seconds(stage);
    RoleDemand demand{.queued = static_cast<double>(queues[index(stage)].size()) * service,
                      .service = service,
                      .erlangs = estimates.erlangs(stage, now),
                      .max_wait = next ? seconds(now - next->queued) : 0,
                      .devices = devices[index(role)]};
    if (role == Role::profiling) {
      // Candidates that pass validation will be profiled.
      double validations = estimates.arrivals_per_second(Stage::validate, now);
      double profiles = estimates.arrivals_per_second(Stage::profile, now);
      double passing = validations > 0 ? std::min(1.0, profiles / validations) : 0.5;
      auto before_profile = static_cast<double>(queues[index(Stage::validate)].size() + validating);
      demand.upcoming = before_profile * passing * service;
    }
    return demand;
  }
};

}  // namespace specgen
