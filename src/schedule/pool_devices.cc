// Devices and hosts of the pool: connecting, fencing, canaries, quarantine, lost hosts, offering idle devices.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "runtime/race.h"
#include "schedule/pool_state.h"

namespace specgen {
namespace {

constexpr Duration kCanaryLimit =
    std::chrono::minutes(5);  // longer than a judge waits for its device
constexpr Duration kFirstPause = std::chrono::milliseconds(500);
constexpr Duration kMaxPause = std::chrono::seconds(60);

Duration doubled(Duration pause, int times) {
  for (; times > 0 && pause < kMaxPause; --times) pause *= 2;
  return std::min(pause, kMaxPause);
}

std::string backend_of(const std::string& device) {
  return device.substr(0, device.find(':'));
}

}  // namespace

Task<Result<void>> EvaluationPool::State::open() {
  SG_ASSERT(!opened_, "pool opened twice");
  std::vector<std::optional<HostFacts>> facts(hosts_.size());
  std::vector<std::optional<Error>> errors(hosts_.size());
  TaskGroup connecting(loop_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    connecting.spawn(connect_to(hosts_[i], facts[i], errors[i]));
  }
  CO_TRY(co_await connecting.join());
  std::string reason = "no host was given";
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (facts[i]) add_devices(i, *facts[i]);
    if (errors[i]) {
      hosts_[i].is_up = false;
      hosts_[i].is_abandoned = true;
      reason = errors[i]->summary();
    } else if (facts[i]->devices.empty()) {
      reason = hosts_[i].host.name() + " has no devices";
    }
  }
  opened_ = loop_.now();
  if (backends_.empty()) co_return fail(ErrorCode::device_missing, reason);
  for (std::size_t i = 0; i < devices.size(); ++i) became_idle(i);
  co_return Result<void>();
}

void EvaluationPool::State::prepare(const std::vector<UpcomingTask>& tasks) {
  SG_ASSERT(opened_, "the pool is not open yet");
  for (std::uint32_t backend = 1; backend <= backends_.size(); ++backend) {
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (device_states_[i].backend == backend) able.push_back(i);
    }
    std::vector<const UpcomingTask*> to_come;
    for (const UpcomingTask& task : tasks) {
      if (task.backend == backends_[backend - 1].name) to_come.push_back(&task);
    }
    if (to_come.empty()) continue;
    for (std::size_t i = 0; i < able.size(); ++i) {
      std::vector<UpcomingTask> its;
      for (std::size_t n = i % to_come.size(); n < to_come.size(); n += able.size()) {
        its.push_back(*to_come[n]);
      }
      work_.spawn(prepare_on(able[i], std::move(its)));
    }
  }
}

// Stops when the first candidate arrives: from then on its task matters. An error shows again when a candidate
// is judged
// there.
Task<void> EvaluationPool::State::prepare_on(std::size_t device, std::vector<UpcomingTask> tasks) {
  auto is_idle = [&] {
    const DeviceState& state = device_states_[device];
    return !state.is_running && state.condition == DeviceCondition::ready;
  };
  HostClient& client = hosts_[device_states_[device].host].client;
  Result<void> prepared;
  for (UpcomingTask& task : tasks) {
    if (!is_idle() || !prepared) break;
    scheduler_.prepares(id_of(device), number_of_task(task.task));
    prepared = co_await client.prepare(devices[device].name, std::move(task.task),
                                       std::move(task.shapes), settings_.device_limit);
  }
  if (!is_idle()) co_return;
  device_states_[device].is_offered = false;  // preparing took its memory back
  became_idle(device);
}

Task<void> EvaluationPool::State::connect_to(HostEntry& host, std::optional<HostFacts>& facts,
                                             std::optional<Error>& error) {
  auto hello = co_await host.client.hello();
  if (hello) {
    facts = std::move(*hello);
  } else {
    error = std::move(hello.error());
  }
}

void EvaluationPool::State::add_devices(std::size_t host, const HostFacts& facts) {
  const auto host_number = static_cast<std::uint32_t>(host + 1);
  hosts_[host].shares_memory = facts.shares_memory;
  auto add = [&](std::string name, std::string model, std::uint32_t backend, bool is_compile_slot) {
    DeviceId id{devices.size() + 1};
    hosts_[host].devices.push_back(devices.size());
    devices.push_back(
        {id, hosts_[host].host.name(), std::move(name), std::move(model), is_compile_slot});
    device_states_.push_back({.host = host, .backend = backend});
    return id;
  };
  for (const HostDevice& device : facts.devices) {
    std::string name = backend_of(device.id);
    std::uint32_t backend = number_of_backend(name);
    if (backend == 0) {
      backends_.push_back({.name = name, .models = {}});
      backend = static_cast<std::uint32_t>(backends_.size());
    }
    BackendState& its = backends_[backend - 1];
    ++its.usable;
    std::vector<std::string> models;
    for (std::string_view model : split(its.models, '\n')) models.emplace_back(model);
    models.push_back(device.name);
    std::ranges::sort(models);
    auto repeated = std::ranges::unique(models);
    models.erase(repeated.begin(), repeated.end());
    std::erase(models, std::string());
    its.models = specgen::join(models, "\n");
    scheduler_.add_device(add(device.id, device.name, backend, false), backend, host_number);
  }
  for (std::size_t i = 0; i < facts.compile_slots; ++i) {
    scheduler_.add_compile_slot(add(std::string(kCompileSlotName), "", 0, true), host_number);
  }
}

std::uint32_t EvaluationPool::State::number_of_backend(const std::string& name) {
  auto found = std::ranges::find(backends_, name, &BackendState::name);
  if (found == backends_.end()) return 0;
  return static_cast<std::uint32_t>(found - backends_.begin() + 1);
}

void EvaluationPool::State::set_condition(std::size_t device, DeviceCondition condition) {
  DeviceState& state = device_states_[device];
  if (state.condition == condition) return;
  state.condition = condition;
  notify(DeviceChanged{id_of(device), condition});
}

// No job starts on the device until it passes its canary.
void EvaluationPool::State::fence(std::size_t device, std::string task) {
  DeviceState& state = device_states_[device];
  ++counters.fenced;
  ++state.failures;
  state.idle_stamp = 0;
  scheduler_.take_out(id_of(device));
  set_condition(device, DeviceCondition::fenced);
  work_.spawn(recover(device, std::move(task)));
}

Task<void> EvaluationPool::State::recover(std::size_t device, std::string task) {
  HostEntry& host = hosts_[device_states_[device].host];
  const bool is_compile_slot = devices[device].is_compile_slot;
  const std::string name = devices[device].name;
  // Whatever settled() returns, no job of ours runs there afterwards.
  if (!is_compile_slot) (void)co_await host.client.settled(name);
  while (true) {
    if (!co_await host_is_up(host)) co_return;  // reconnect() has retired its devices
    if (is_compile_slot) break;
    auto passed = co_await host.client.canary(name, task, kCanaryLimit);
    // A canary that reports an error in the task has read the task: the device works.
    if (passed || passed.error().code == ErrorCode::bad_task) break;
    if (passed.error().code == ErrorCode::device_busy) continue;  // with the job of another client
    if (!co_await host_is_up(host)) co_return;
    if (++device_states_[device].failed_canaries >= settings_.canaries_before_quarantine) {
      ++counters.quarantined;
      co_return retire(device, DeviceCondition::quarantined);
    }
  }
  device_states_[device].failed_canaries = 0;
  // A device that passes canaries but fails jobs must not attract all of them.
  if (int again = device_states_[device].failures - 1; again > 0) {
    co_await loop_.sleep(doubled(kFirstPause, again));
  }
  put_back(device);
}

void EvaluationPool::State::put_back(std::size_t device) {
  set_condition(device, DeviceCondition::ready);
  scheduler_.put_back(id_of(device), loop_.now());
  start_ready_jobs();
  if (!device_states_[device].is_running) became_idle(device);
}

// Permanent.
void EvaluationPool::State::retire(std::size_t device, DeviceCondition condition) {
  set_condition(device, condition);
  if (devices[device].is_compile_slot) return;
  HostEntry& host = hosts_[device_states_[device].host];
  if (host.shares_memory && host.is_up)
    host.client.offer(devices[device].name);  // its memory can still be a cache
  std::uint32_t backend = device_states_[device].backend;
  SG_ASSERT(backends_[backend - 1].usable > 0, "device retired twice");
  if (--backends_[backend - 1].usable == 0) fail_all_pending(backend);
}

// The last device of the backend is gone: fails everything that waits for one.
void EvaluationPool::State::fail_all_pending(std::uint32_t backend) {
  std::vector<PendingPtr> left;
  for (const auto& [key, pending] : pending_) {
    if (pending->backend == backend) left.push_back(pending);
  }
  for (const auto& [job, pending] : jobs_) {
    if (pending->backend == backend && pending->is_tuning) left.push_back(pending);
  }
  std::ranges::sort(left, {}, [](const PendingPtr& pending) { return pending->job; });
  for (const PendingPtr& pending : left) {
    finish(*pending, fail(ErrorCode::device_missing, fmt::format("the last {} device is out of use",
                                                                 backends_[backend - 1].name)));
  }
}

// Waits while the host is unreachable. False: it is abandoned.
Task<bool> EvaluationPool::State::host_is_up(HostEntry& host) {
  if (host.is_up) {
    auto facts = co_await host.client.hello();
    if (facts) co_return true;
    if (host.is_up) {  // no other task noticed it meanwhile
      host.is_up = false;
      host.changed.reset();
      for (std::size_t device : host.devices) {
        DeviceState& state = device_states_[device];
        if (state.condition == DeviceCondition::quarantined) continue;
        if (state.condition == DeviceCondition::ready && !state.is_running) {
          scheduler_.take_out(id_of(device));
          state.idle_stamp = 0;
          set_condition(device, DeviceCondition::lost);
        }
      }
      work_.spawn(reconnect(host));
    }
  }
  while (!host.is_up && !host.is_abandoned) co_await host.changed.wait();
  co_return host.is_up;
}

Task<void> EvaluationPool::State::reconnect(HostEntry& host) {
  const Time lost_at = loop_.now();
  Duration pause = kFirstPause;
  while (loop_.now() - lost_at < settings_.host_away_limit) {
    co_await loop_.sleep(pause);
    pause = doubled(pause, 1);
    auto facts = co_await host.client.hello();
    if (!facts) continue;
    host.is_up = true;
    host.changed.set();
    for (std::size_t device : host.devices) {
      if (device_states_[device].condition == DeviceCondition::lost) put_back(device);
    }
    co_return;
  }
  host.is_abandoned = true;
  host.changed.set();
  for (std::size_t device : host.devices) {
    if (device_states_[device].condition == DeviceCondition::quarantined) continue;
    retire(device, DeviceCondition::lost);
  }
}

// ── idle devices ──

void EvaluationPool::State::became_idle(std::size_t device) {
  DeviceState& state = device_states_[device];
  if (!hosts_[state.host].shares_memory || devices[device].is_compile_slot || state.is_offered)
    return;
  if (state.condition != DeviceCondition::ready) return;
  state.idle_stamp = ++last_idle_stamp_;
  idle_.push_back({device, state.idle_stamp, loop_.now()});
  idle_changed_.set();
  if (!std::exchange(is_offering_, true)) work_.spawn(offer_idle_devices());
}

// Idle devices are offered in the order in which they became idle.
Task<void> EvaluationPool::State::offer_idle_devices() {
  while (true) {
    co_await idle_changed_.wait();
    while (!idle_.empty()) {
      IdleSince next = idle_.front();
      idle_.pop_front();
      if (device_states_[next.device].idle_stamp != next.stamp) continue;
      co_await loop_.sleep_until(next.since + settings_.offer_after);
      DeviceState& state = device_states_[next.device];
      if (state.idle_stamp != next.stamp) continue;  // it was busy meanwhile
      state.is_offered = true;
      ++counters.offered;
      hosts_[state.host].client.offer(devices[next.device].name);
    }
    idle_changed_.reset();
  }
}

}  // namespace specgen
