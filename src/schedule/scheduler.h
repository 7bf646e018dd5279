#pragma once
// Decides which job starts next and where. Pure bookkeeping: it neither waits nor runs anything, time is an
// argument, and the same calls give the same answers. EvaluationPool asks it and does what it says; the burst study
// of bench/ asks it too.
//
//   scheduler.submit(job, now);
//   while (auto start = scheduler.next(now)) begin(*start);
//   ...
//   scheduler.ended(job, now);
//
// Order: what is nearest to feedback first (profile, then validate), main before speculative before demoted, tune
// last; a job that waits gains one rank for every `aging`, so that nothing starves. All operations are O(ranks) or
// O(log n), not O(jobs) or O(devices).

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/job.h"

namespace specgen {

struct JobTag {
  static constexpr char prefix = 'j';
};
using JobId = Id<JobTag>;

enum class PoolForm : std::uint8_t {
  per_task,  // each task has devices of its own, as the peers do
  split,     // some devices validate, the others profile, for good
  elastic,   // roles follow the load; where switching is free there are no roles
};
std::string_view to_string(PoolForm form);
Result<PoolForm> parse_pool_form(std::string_view name);

enum class Urgency : std::uint8_t { main, speculative, demoted };

enum class Role : std::uint8_t { any, validating, profiling };
std::string_view to_string(Role role);

struct SchedulerSettings {
  PoolForm form = PoolForm::elastic;
  double validating_share = 0.5;              // of the devices, in a split pool
  Duration switching_cost{};                  // a device that changes its role is busy for so long
  Duration aging = std::chrono::seconds(60);  // in a queue, for one rank
  Duration memory =
      std::chrono::seconds(120);  // over which arrivals and service times are averaged
};

struct Job {
  JobId id;
  Stage stage = Stage::compile;
  Urgency urgency = Urgency::main;
  std::uint32_t task = 0;     // number of the task in the run
  std::uint32_t backend = 0;  // number of the backend: a device serves one
  std::uint32_t host = 0;     // where its program was compiled; preferred, not demanded. 0: none
};

struct Start {
  JobId job;
  DeviceId device;       // or the lane: lanes are devices of the stage compile
  Duration switching{};  // that the device needs first, to change its role
};

struct PoolLoad {
  std::array<std::size_t, kStages> queued{};
  std::array<std::size_t, kStages> running{};
  std::size_t devices = 0;       // that can be used; lanes not counted
  std::size_t idle_devices = 0;  // of these
  double offered = 0;            // erlangs per device: arrivals × service time; above 1 queues grow
  // From being handed in to feedback, for a speculative candidate that came now; an estimate.
  Duration expected_wait{};
  // Whether one more speculative candidate would find a device idle.
  bool has_room() const { return idle_devices > queued[1] + queued[2] + queued[3]; }
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerSettings settings);
  ~Scheduler();

  void add_device(DeviceId device, std::uint32_t backend, std::uint32_t host);
  void add_lane(DeviceId lane, std::uint32_t host);  // compiles for every backend
  // Not to be used until put back: its host is away, it awaits its canary, or it is in quarantine. A
  // job that runs there must have ended.
  void take_out(DeviceId device);
  void put_back(DeviceId device, Time now);
  // An idle device prepares a task without a job: of that task's jobs it is asked first.
  void prepares(DeviceId device, std::uint32_t task);

  void submit(const Job& job, Time now);
  bool withdraw(JobId job);  // false: it has started, or is not known
  void set_urgency(JobId job, Urgency urgency);
  std::optional<Start> next(Time now);
  // Of a job that has started. `useful` is false if it must be done again: its time does not count as service.
  void ended(JobId job, Time now, bool useful = true);

  // When to ask next() again though nothing happened: a device may be worth switching by then.
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
