#include "schedule/scheduler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "schedule/device_group.h"

namespace specgen {
namespace {

constexpr Duration kMinReview = std::chrono::milliseconds(1);
constexpr std::size_t kUrgencies = 3;

std::size_t index(Urgency urgency) {
  return static_cast<std::size_t>(urgency);
}

// Jobs nearest to feedback first; demoted ones behind all that an iteration still waits for.
int rank_of(Stage stage, Urgency urgency) {
  if (stage == Stage::tune) return 6;
  bool is_last = stage == Stage::profile;
  switch (urgency) {
    case Urgency::main:
      return is_last ? 0 : 2;
    case Urgency::speculative:
      return is_last ? 1 : 3;
    case Urgency::demoted:
      return is_last ? 4 : 5;
  }
  SG_PANIC("an Urgency without a rank");
}

}  // namespace

class Scheduler::State {
 public:
  explicit State(SchedulerSettings settings)
      : settings_(settings), compile_slots_(settings.memory), overall_(settings.memory) {}

  void add(DeviceId id, std::uint32_t backend, std::uint32_t host, bool is_compile_slot);
  void take_out(DeviceId id);
  void put_back(DeviceId id);
  void prepares(DeviceId id, std::uint32_t task);
  void submit(const Job& job, Time now);
  bool withdraw(JobId id);
  void set_urgency(JobId id, Urgency urgency);
  std::optional<Start> next(Time now);
  void ended(JobId id, Time now, bool useful);
  std::optional<Time> review_at() const;
  PoolLoad load(Time now) const;
  Role role_of(DeviceId id) const { return device(id).role; }

  std::uint64_t role_switches = 0;
  std::size_t queued = 0;

 private:
  struct Backend {
    std::vector<ScheduledDevice*> devices;  // in the order of addition
    std::deque<DeviceGroup> groups;         // one; in a per-task pool up to one per device
    std::unordered_map<std::uint32_t, std::size_t>
        tasks;               // numbered in the order of their first job
    std::size_t shares = 1;  // groups in use
  };

  ScheduledDevice& device(DeviceId id) const {
    auto found = devices_.find(id);
    SG_ASSERT(found != devices_.end(), "unknown device");
    return *found->second;
  }
  Backend& backend(std::uint32_t number);
  DeviceGroup& group_of(const Job& job);
  bool has_fixed_roles() const { return settings_.form == PoolForm::split; }
  bool has_moving_roles() const {
    return settings_.form == PoolForm::elastic && settings_.switching_cost > Duration::zero();
  }

  void check_soon(DeviceGroup& group);
  void enter(ScheduledDevice& device, DeviceGroup& group);
  void leave(ScheduledDevice& device);
  void set_role(ScheduledDevice& device, Role role);
  void assign_devices(Backend& backend);
  void reassign_jobs(Backend& backend);
  void queue_in(JobEntry& entry, DeviceGroup& group);
  void dequeue(JobEntry& entry);
  std::optional<Start> start_in(DeviceGroup& group, Time now);
  std::optional<Start> start_with_roles(DeviceGroup& group, Time now);
  Start start(JobEntry& entry, ScheduledDevice& device, Time now);

  SchedulerSettings settings_;
  std::unordered_map<DeviceId, std::unique_ptr<ScheduledDevice>> devices_;
  std::unordered_map<JobId, JobEntry> jobs_;
  std::map<std::uint32_t, Backend> backends_;  // few
  DeviceGroup compile_slots_;
  ServiceEstimates overall_;
  std::deque<DeviceGroup*> to_check_;
  std::uint64_t last_sequence_ = 0;
  std::size_t usable_devices_ = 0;
  std::size_t idle_devices_ = 0;
  std::array<std::array<std::size_t, kUrgencies>, kStages> queued_{};
  std::array<std::size_t, kStages> running_{};
};

// ── devices ──

void Scheduler::State::add(DeviceId id, std::uint32_t number, std::uint32_t host,
                           bool is_compile_slot) {
  auto added =
      std::make_unique<ScheduledDevice>(ScheduledDevice{id, number, host, is_compile_slot});
  auto [place, is_new] = devices_.emplace(id, std::move(added));
  SG_ASSERT(is_new, "device added twice");
  ScheduledDevice& device = *place->second;
  if (is_compile_slot) return enter(device, compile_slots_);
  Backend& its = backend(number);
  its.devices.push_back(&device);
  enter(device, its.groups.front());
  ++usable_devices_;
  ++idle_devices_;
  assign_devices(its);
  reassign_jobs(its);
}

void Scheduler::State::take_out(DeviceId id) {
  ScheduledDevice& out = device(id);
  SG_ASSERT(!out.busy, "device taken out while a job runs on it");
  if (!out.usable) return;
  leave(out);
  out.usable = false;
  out.last_task = 0;  // its judge process is gone
  if (out.is_compile_slot) return;
  --usable_devices_;
  --idle_devices_;
  assign_devices(backend(out.backend));
  reassign_jobs(backend(out.backend));
}

void Scheduler::State::put_back(DeviceId id) {
  ScheduledDevice& back = device(id);
  if (back.usable) return;
  back.usable = true;
  back.role = back.set_up_for = Role::any;
  if (back.is_compile_slot) return enter(back, compile_slots_);
  ++usable_devices_;
  ++idle_devices_;
  Backend& its = backend(back.backend);
  enter(back, its.groups.front());
  assign_devices(its);
  reassign_jobs(its);
}

void Scheduler::State::prepares(DeviceId id, std::uint32_t task) {
  ScheduledDevice& idle = device(id);
  if (idle.busy || !idle.usable) return;
  IdlePool& idle_pool = idle.group->idle[index(idle.role)];
  idle_pool.take(idle);
  idle.last_task = task;
  idle_pool.put(idle);
}

Scheduler::State::Backend& Scheduler::State::backend(std::uint32_t number) {
  Backend& its = backends_[number];
  if (its.groups.empty()) its.groups.emplace_back(settings_.memory);
  return its;
}

void Scheduler::State::check_soon(DeviceGroup& group) {
  if (std::exchange(group.is_to_check, true)) return;
  to_check_.push_back(&group);
}

void Scheduler::State::enter(ScheduledDevice& device, DeviceGroup& group) {
  device.group = &group;
  ++group.devices[index(device.role)];
  if (!device.busy) group.idle[index(device.role)].put(device);
  check_soon(group);
}

void Scheduler::State::leave(ScheduledDevice& device) {
  --device.group->devices[index(device.role)];
  if (!device.busy) device.group->idle[index(device.role)].take(device);
  device.group = nullptr;
}

void Scheduler::State::set_role(ScheduledDevice& device, Role role) {
  if (device.role == role) return;
  DeviceGroup& group = *device.group;
  leave(device);
  device.role = role;
  enter(device, group);
}

// Gives each usable device its group (per_task) or its role (split), in the order of addition. Unusable devices get
// none, so that no job waits for them.
void Scheduler::State::assign_devices(Backend& its) {
  bool is_per_task = settings_.form == PoolForm::per_task;
  if (!is_per_task && !has_fixed_roles()) return;
  auto usable = static_cast<std::size_t>(
      std::ranges::count_if(its.devices, [](const auto* device) { return device->usable; }));
  its.shares = is_per_task ? std::max<std::size_t>(1, std::min(usable, its.tasks.size())) : 1;
  while (its.groups.size() < its.shares) its.groups.emplace_back(settings_.memory);
  auto validating = static_cast<std::size_t>(
      std::lround(settings_.validating_share * static_cast<double>(usable)));
  if (usable > 1) validating = std::clamp<std::size_t>(validating, 1, usable - 1);

  std::size_t assigned = 0;
  for (ScheduledDevice* device : its.devices) {
    if (!device->usable) continue;
    if (is_per_task) {
      DeviceGroup& group = its.groups[assigned % its.shares];
      if (device->group != &group) {
        leave(*device);
        enter(*device, group);
      }
    } else {
      set_role(*device, usable < 2              ? Role::any
                        : assigned < validating ? Role::validating
                                                : Role::profiling);
    }
    ++assigned;
  }
}

// Moves queued jobs to the groups they belong to now. Only needed when devices came or went: a new task does not change
// the group of an existing one.
void Scheduler::State::reassign_jobs(Backend& its) {
  if (settings_.form != PoolForm::per_task) return;
  for (DeviceGroup& group : its.groups) {
    for (JobQueue& queue : group.queues) {
      std::vector<JobEntry*> waiting(queue.begin(), queue.end());
      for (JobEntry* entry : waiting) {
        DeviceGroup& now_its = group_of(entry->job);
        if (&now_its == &group) continue;
        queue.erase(entry);
        queue_in(*entry, now_its);
      }
    }
  }
}

// ── jobs ──

DeviceGroup& Scheduler::State::group_of(const Job& job) {
  if (job.stage == Stage::compile) return compile_slots_;
  Backend& its = backend(job.backend);
  if (settings_.form != PoolForm::per_task) return its.groups.front();
  auto [task, is_new] = its.tasks.emplace(job.task, its.tasks.size());
  if (is_new) assign_devices(its);
  return its.groups[task->second % its.shares];
}

void Scheduler::State::queue_in(JobEntry& entry, DeviceGroup& group) {
  entry.group = &group;
  group.queues[index(entry.job.stage)].insert(&entry);
  check_soon(group);
}

void Scheduler::State::submit(const Job& job, Time now) {
  auto [place, is_new] = jobs_.emplace(job.id, JobEntry{.job = job, .queued = now, .due = now});
  SG_ASSERT(is_new, "job submitted twice");
  JobEntry& entry = place->second;
  entry.due += rank_of(job.stage, job.urgency) * settings_.aging;
  entry.sequence = ++last_sequence_;
  queue_in(entry, group_of(job));
  entry.group->estimates.arrived(job.stage, now);
  overall_.arrived(job.stage, now);
  ++queued_[index(job.stage)][index(job.urgency)];
  ++queued;
}

// The entry must be queued.
void Scheduler::State::dequeue(JobEntry& entry) {
  entry.group->queues[index(entry.job.stage)].erase(&entry);
  --queued_[index(entry.job.stage)][index(entry.job.urgency)];
  --queued;
}

bool Scheduler::State::withdraw(JobId id) {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.device) return false;
  dequeue(found->second);
  jobs_.erase(found);
  return true;
}

void Scheduler::State::set_urgency(JobId id, Urgency urgency) {
  auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.job.urgency == urgency) return;
  JobEntry& entry = found->second;
  if (entry.device) {
    entry.job.urgency = urgency;
    return;
  }
  dequeue(entry);
  entry.job.urgency = urgency;
  entry.due = entry.queued + rank_of(entry.job.stage, urgency) * settings_.aging;
  queue_in(entry, *entry.group);
  ++queued_[index(entry.job.stage)][index(urgency)];
  ++queued;
}

std::optional<Time> Scheduler::State::review_at() const {
  std::optional<Time> soonest;
  if (!has_moving_roles()) return soonest;
  for (const auto& [number, its] : backends_) {
    auto when = its.groups.front().review_at;
    if (when && (!soonest || *when < *soonest)) soonest = when;
  }
  return soonest;
}

std::optional<Start> Scheduler::State::next(Time now) {
  if (auto when = review_at(); when && *when <= now) {
    for (auto& [number, its] : backends_) check_soon(its.groups.front());
  }
  while (!to_check_.empty()) {
    DeviceGroup& group = *to_check_.front();
    if (auto started = start_in(group, now)) return started;
    group.is_to_check = false;
    to_check_.pop_front();
  }
  return std::nullopt;
}

std::optional<Start> Scheduler::State::start_in(DeviceGroup& group, Time now) {
  if (has_moving_roles() && &group != &compile_slots_) return start_with_roles(group, now);
  for (Role role : {Role::profiling, Role::validating, Role::any}) {
    const IdlePool& idle = group.idle[index(role)];
    if (idle.empty()) continue;
    JobEntry* first = group.first_for(role);
    if (!first) continue;
    return start(*first,
                 &group == &compile_slots_ ? idle.idle_longest() : idle.best_for(first->job), now);
  }
  return std::nullopt;
}

// Prefers devices that have the right role, then devices without a role, then devices for which a switch pays.
std::optional<Start> Scheduler::State::start_with_roles(DeviceGroup& group, Time now) {
  group.review_at.reset();
  const IdlePool& without_role = group.idle[index(Role::any)];
  for (Role role : {Role::profiling, Role::validating}) {
    const IdlePool& idle = group.idle[index(role)];
    if (idle.empty()) continue;
    JobEntry* own = group.first_for(role);
    JobEntry* elsewhere = group.first_of(stage_of(other(role)));
    if (elsewhere && without_role.empty() && group.idle[index(other(role))].empty()) {
      RoleQuestion question{.from = group.demand_of(role, now),
                            .to = group.demand_of(other(role), now),
                            .cost = seconds(settings_.switching_cost),
                            .aging = seconds(settings_.aging)};
      if (worth_switching(question)) return start(*elsewhere, idle.best_for(elsewhere->job), now);
      if (!own) {
        Time when = elsewhere->queued + from_seconds(patience(question));
        group.review_at = std::max(when, now + kMinReview);
      }
    }
    if (own) return start(*own, idle.best_for(own->job), now);
  }
  JobEntry* first = without_role.empty() ? nullptr : group.first_for(Role::any);
  if (!first) return std::nullopt;
  return start(*first, without_role.best_for(first->job), now);
}

Start Scheduler::State::start(JobEntry& entry, ScheduledDevice& device, Time now) {
  dequeue(entry);
  Stage stage = entry.job.stage;
  Start started{.job = entry.job.id, .device = device.id};
  Role needed = role_for(stage);
  device.group->idle[index(device.role)].take(device);
  device.busy = true;
  if (needed != Role::any && needed != device.set_up_for) {
    if (device.set_up_for != Role::any) {
      started.switching = settings_.switching_cost;
      ++role_switches;
    }
    device.set_up_for = needed;
    device.switched_at = now;
    if (has_moving_roles()) set_role(device, needed);
  }
  device.last_task = entry.job.task;
  entry.device = &device;
  entry.started = now + started.switching;
  ++running_[index(stage)];
  if (stage == Stage::validate) ++device.group->validating;
  if (!device.is_compile_slot) --idle_devices_;
  return started;
}

void Scheduler::State::ended(JobId id, Time now, bool useful) {
  auto found = jobs_.find(id);
  SG_ASSERT(found != jobs_.end() && found->second.device, "ended() for a job that does not run");
  JobEntry& entry = found->second;
  ScheduledDevice& device = *entry.device;
  Stage stage = entry.job.stage;
  --running_[index(stage)];
  if (stage == Stage::validate) --device.group->validating;
  device.busy = false;
  device.group->idle[index(device.role)].put(device);
  if (!device.is_compile_slot) ++idle_devices_;
  if (useful) {
    Duration service = std::max(Duration::zero(), now - entry.started);
    device.group->estimates.served(stage, service);
    overall_.served(stage, service);
  }
  check_soon(*device.group);
  jobs_.erase(found);
}

// ── load ──

PoolLoad Scheduler::State::load(Time now) const {
  PoolLoad load{.devices = usable_devices_, .idle_devices = idle_devices_};
  load.running = running_;
  double work_ahead = 0;  // device seconds queued before a new speculative candidate
  double erlangs = 0;
  for (std::size_t i = 0; i < kStages; ++i) {
    auto stage = static_cast<Stage>(i);
    for (std::size_t waiting : queued_[i]) load.queued[i] += waiting;
    if (stage == Stage::compile || stage == Stage::tune) continue;
    std::size_t before = queued_[i][index(Urgency::main)] + queued_[i][index(Urgency::speculative)];
    work_ahead += static_cast<double>(before) * overall_.service_seconds(stage);
    erlangs += overall_.erlangs(stage, now);
  }
  auto devices = static_cast<double>(std::max<std::size_t>(1, usable_devices_));
  load.offered = erlangs / devices;

  auto slots =
      static_cast<double>(std::max<std::size_t>(1, compile_slots_.devices[index(Role::any)]));
  double compile = overall_.service_seconds(Stage::compile);
  double service = compile + overall_.service_seconds(Stage::validate) +
                   overall_.service_seconds(Stage::profile);
  double wait = static_cast<double>(load.queued[index(Stage::compile)]) * compile / slots;
  if (idle_devices_ == 0) wait += work_ahead / devices;
  load.expected_wait = from_seconds(wait + service);
  return load;
}

Scheduler::Scheduler(SchedulerSettings settings) : state_(std::make_unique<State>(settings)) {}
Scheduler::~Scheduler() = default;

void Scheduler::add_device(DeviceId device, std::uint32_t backend, std::uint32_t host) {
  state_->add(device, backend, host, false);
}
void Scheduler::add_compile_slot(DeviceId slot, std::uint32_t host) {
  state_->add(slot, 0, host, true);
}
void Scheduler::take_out(DeviceId device) {
  state_->take_out(device);
}
void Scheduler::put_back(DeviceId device, Time) {
  state_->put_back(device);
}
void Scheduler::prepares(DeviceId device, std::uint32_t task) {
  state_->prepares(device, task);
}
void Scheduler::submit(const Job& job, Time now) {
  state_->submit(job, now);
}
bool Scheduler::withdraw(JobId job) {
  return state_->withdraw(job);
}
void Scheduler::set_urgency(JobId job, Urgency urgency) {
  state_->set_urgency(job, urgency);
}
std::optional<Start> Scheduler::next(Time now) {
  return state_->next(now);
}
void Scheduler::ended(JobId job, Time now, bool useful) {
  state_->ended(job, now, useful);
}
std::optional<Time> Scheduler::review_at() const {
  return state_->review_at();
}
PoolLoad Scheduler::load(Time now) const {
  return state_->load(now);
}
Role Scheduler::role_of(DeviceId device) const {
  return state_->role_of(device);
}
std::uint64_t Scheduler::role_switches() const {
  return state_->role_switches;
}
std::size_t Scheduler::queued() const {
  return state_->queued;
}

}  // namespace specgen
