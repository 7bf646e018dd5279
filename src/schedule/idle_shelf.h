#pragma once
// The idle devices that may serve the same jobs, and which of them suits a job best: one that has prepared the
// job's task, else one on the host that has its program, else the one that was used last. The others stay idle for
// long, so that their memory can be lent. Everything is O(1). Devices are owned by the scheduler.

#include <cstdint>
#include <unordered_map>

#include "schedule/job.h"
#include "schedule/scheduler.h"

namespace specgen {

struct DeviceGroup;

struct ScheduledDevice;

// A device's place in one list.
struct ShelfPlace {
  ScheduledDevice* before = nullptr;
  ScheduledDevice* after = nullptr;
};

struct ScheduledDevice {
  DeviceId id;
  std::uint32_t backend = 0;
  std::uint32_t host = 0;
  bool is_lane = false;
  bool usable = true;
  bool busy = false;
  std::uint32_t last_task = 0;  // that it served; 0: none yet
  Role role = Role::any;        // what it may serve
  Role set_up_for = Role::any;  // what it served last; changing that takes the switching cost
  Time switched_at{};
  DeviceGroup* group = nullptr;

  ShelfPlace among_all = {};
  ShelfPlace of_task = {};
  ShelfPlace of_host = {};
};

// Last in, first out.
template <ShelfPlace ScheduledDevice::* place>
class DeviceStack {
 public:
  ScheduledDevice* top() const { return top_; }
  ScheduledDevice* bottom() const { return bottom_; }
  void push(ScheduledDevice& device) {
    device.*place = {.before = nullptr, .after = top_};
    (top_ ? (top_->*place).before : bottom_) = &device;
    top_ = &device;
  }
  void remove(ScheduledDevice& device) {
    auto [before, after] = device.*place;
    (before ? (before->*place).after : top_) = after;
    (after ? (after->*place).before : bottom_) = before;
    device.*place = {};
  }

 private:
  ScheduledDevice* top_ = nullptr;
  ScheduledDevice* bottom_ = nullptr;
};

class IdleShelf {
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
  // Not of an empty shelf.
  ScheduledDevice& best_for(const Job& job) const {
    if (auto of_task = by_task_.find(job.task); of_task != by_task_.end()) {
      if (ScheduledDevice* device = of_task->second.top()) return *device;
    }
    if (auto of_host = by_host_.find(job.host); job.host != 0 && of_host != by_host_.end()) {
      if (ScheduledDevice* device = of_host->second.top()) return *device;
    }
    return *all_.top();
  }
  // Lanes take turns, so that programs spread over the hosts.
  ScheduledDevice& max_idle() const { return *all_.bottom(); }

 private:
  std::size_t size_ = 0;
  DeviceStack<&ScheduledDevice::among_all> all_;
  std::unordered_map<std::uint32_t, DeviceStack<&ScheduledDevice::of_task>> by_task_;
  std::unordered_map<std::uint32_t, DeviceStack<&ScheduledDevice::of_host>> by_host_;
};

}  // namespace specgen
