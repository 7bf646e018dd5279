#pragma once
// Decides which job starts next and on which device. Bookkeeping only: it neither waits nor runs anything, time is an
// argument, and the same calls return the same decisions. EvaluationPool carries the decisions out; the burst study in
// bench/ drives it in virtual time.
//
//   scheduler.submit(job, now);
//   while (auto start = scheduler.next(now)) begin(*start);
//   ...
//   scheduler.ended(job, now);
//
// Order: jobs nearest to feedback first (profile, then validate), main before speculative before demoted, tune last. A
// queued job gains one rank per `aging`, so that no job starves. Operations are O(ranks) or O(log n), not O(jobs) or
// O(devices).
//
// To follow one decision: this file, next() in scheduler.cc, the queues and idle devices in device_group.h, and, where
// roles cost time to switch, role_policy.cc.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/job.h"
#include "schedule/pool_form.h"

namespace specgen {

struct JobTag {
  static constexpr char prefix = 'j';
};
using JobId = Id<JobTag>;

enum class Urgency : std::uint8_t { main, speculative, demoted };

struct SchedulerSettings {
  PoolForm form = PoolForm::elastic;
  double validating_share = 0.5;                // of the devices, in a split pool
  Duration switching_cost{};                    // time that a device needs to change its role
  Duration aging = std::chrono::seconds(60);    // time in a queue that counts as one rank
  Duration memory = std::chrono::seconds(120);  // for averaging arrivals and service times
};

struct Job {
  JobId id;
  Stage stage = Stage::compile;
  Urgency urgency = Urgency::main;
  std::uint32_t task = 0;     // number of the task in the run
  std::uint32_t backend = 0;  // number of the backend; a device serves one backend
  std::uint32_t host = 0;     // where its program was compiled: preferred, not required; 0: none
};

struct Start {
  JobId job;
  DeviceId device;       // or compile slot
  Duration switching{};  // time that the device needs first to change its role
};

struct PoolLoad {
  std::array<std::size_t, kStages> queued{};
  std::array<std::size_t, kStages> running{};
  std::size_t devices = 0;       // usable ones, without compile slots
  std::size_t idle_devices = 0;  // of these
  double offered = 0;            // erlangs per device: arrivals × service time; above 1 queues grow
  // Estimated time from submission to feedback for a speculative candidate submitted now.
  Duration expected_wait{};
  // Whether one more speculative candidate would find an idle device.
  bool has_capacity() const { return idle_devices > queued[1] + queued[2] + queued[3]; }
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerSettings settings);
  ~Scheduler();

  void add_device(DeviceId device, std::uint32_t backend, std::uint32_t host);
  void add_compile_slot(DeviceId slot, std::uint32_t host);  // compiles for every backend
  // Stops using a device until put_back(): its host is unreachable, it awaits its canary, or it is in quarantine. No
  // job may be running there.
  void take_out(DeviceId device);
  void put_back(DeviceId device, Time now);
  // An idle device prepares this task without a job: it becomes the first choice for that task's jobs.
  void prepares(DeviceId device, std::uint32_t task);

  void submit(const Job& job, Time now);
  bool withdraw(JobId job);  // false: it has started, or is unknown
  void set_urgency(JobId job, Urgency urgency);
  std::optional<Start> next(Time now);
  // A started job has ended. `useful` is false if it must be repeated: its time does not count as service time.
  void ended(JobId job, Time now, bool useful = true);

  // When to call next() again even if nothing happens: a role switch may be worthwhile by then.
  std::optional<Time> review_at() const;

  PoolLoad load(Time now) const;
  Role role_of(DeviceId device) const;
  std::uint64_t role_switches() const;
  std::size_t queued() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
