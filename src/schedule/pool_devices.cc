// What happens to devices and hosts: greeted, fenced, tried by a canary, put back, in quarantine, away, lent.

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
  SG_ASSERT(!opened_, "a pool is opened twice");
  std::vector<std::optional<HostFacts>> facts(hosts_.size());
  std::vector<std::optional<Error>> errors(hosts_.size());
  TaskGroup greeting(loop_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    greeting.spawn(greet(hosts_[i], facts[i], errors[i]));
  }
  CO_TRY(co_await greeting.join());
  std::string reason = "no host was named";
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (facts[i]) add_devices(i, *facts[i]);
    if (errors[i]) {
      hosts_[i].is_up = false;
      hosts_[i].is_given_up = true;
      reason = errors[i]->summary();
    } else if (facts[i]->devices.empty()) {
      reason = hosts_[i].host.name() + " has none";
    }
  }
  opened_ = loop_.now();
  if (backends_.empty()) co_return fail(ErrorCode::device_missing, reason);
  for (std::size_t i = 0; i < devices.size(); ++i) became_idle(i);
  co_return Result<void>();
}

void EvaluationPool::State::prepare(const std::vector<TaskToCome>& tasks) {
  SG_ASSERT(opened_, "tasks come before the pool is open");
  for (std::uint32_t backend = 1; backend <= backends_.size(); ++backend) {
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (device_states_[i].backend == backend) able.push_back(i);
    }
    std::vector<const TaskToCome*> to_come;
    for (const TaskToCome& task : tasks) {
      if (task.backend == backends_[backend - 1].name) to_come.push_back(&task);
    }
    if (to_come.empty()) continue;
    for (std::size_t i = 0; i < able.size(); ++i) {
      std::vector<TaskToCome> its;
      for (std::size_t n = i % to_come.size(); n < to_come.size(); n += able.size()) {
        its.push_back(*to_come[n]);
      }
      work_.spawn(prepare_on(able[i], std::move(its)));
    }
  }
}

// Until the first candidate comes: from then on its task is what matters. What fails is looked into when something is
// to be judged there.
Task<void> EvaluationPool::State::prepare_on(std::size_t device, std::vector<TaskToCome> tasks) {
  auto is_idle = [&] {
    const DeviceState& state = device_states_[device];
    return !state.is_running && state.condition == DeviceCondition::ready;
  };
  HostClient& client = hosts_[device_states_[device].host].client;
  Result<void> prepared;
  for (TaskToCome& task : tasks) {
    if (!is_idle() || !prepared) break;
    scheduler_.prepares(id_of(device), number_of_task(task.task));
    prepared = co_await client.prepare(devices[device].name, std::move(task.task),
                                       std::move(task.shapes), settings_.device_limit);
  }
  if (!is_idle()) co_return;
  device_states_[device].is_offered = false;  // preparing has taken its memory back
  became_idle(device);
}

Task<void> EvaluationPool::State::greet(HostEntry& host, std::optional<HostFacts>& facts,
                                        std::optional<Error>& error) {
  auto told = co_await host.client.hello();
  if (told) {
    facts = std::move(*told);
  } else {
    error = std::move(told.error());
  }
}

void EvaluationPool::State::add_devices(std::size_t host, const HostFacts& facts) {
  const auto host_number = static_cast<std::uint32_t>(host + 1);
  hosts_[host].lends = facts.lends;
  auto add = [&](std::string name, std::string model, std::uint32_t backend, bool is_lane) {
    DeviceId id{devices.size() + 1};
    hosts_[host].devices.push_back(devices.size());
    devices.push_back({id, hosts_[host].host.name(), std::move(name), std::move(model), is_lane});
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
  for (std::size_t i = 0; i < facts.lanes; ++i) {
    scheduler_.add_lane(add("lane", "", 0, true), host_number);
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
  tell(DeviceChanged{id_of(device), condition});
}

// Nothing starts there until it has proved itself.
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
  const bool is_lane = devices[device].is_lane;
  const std::string name = devices[device].name;
  // Whatever settled() says, afterwards nothing of ours runs there.
  if (!is_lane) (void)co_await host.client.settled(name);
  while (true) {
    if (!co_await host_is_up(host)) co_return;  // reconnect() has said what becomes of its devices
    if (is_lane) break;
    auto passed = co_await host.client.canary(name, task, kCanaryLimit);
    // A canary that finds fault with the task was able to read it.
    if (passed || passed.error().code == ErrorCode::bad_task) break;
    if (passed.error().code == ErrorCode::device_busy) continue;  // with somebody else's work
    if (!co_await host_is_up(host)) co_return;
    if (++device_states_[device].failed_canaries >= settings_.canaries_before_quarantine) {
      ++counters.quarantined;
      co_return retire(device, DeviceCondition::quarantined);
    }
  }
  device_states_[device].failed_canaries = 0;
  // One that passes its canaries and fails its jobs must not draw all of them to itself.
  if (int again = device_states_[device].failures - 1; again > 0) {
    co_await loop_.sleep(doubled(kFirstPause, again));
  }
  put_back(device);
}

void EvaluationPool::State::put_back(std::size_t device) {
  set_condition(device, DeviceCondition::ready);
  scheduler_.put_back(id_of(device), loop_.now());
  start_what_can();
  if (!device_states_[device].is_running) became_idle(device);
}

// For good.
void EvaluationPool::State::retire(std::size_t device, DeviceCondition condition) {
  set_condition(device, condition);
  if (devices[device].is_lane) return;
  HostEntry& host = hosts_[device_states_[device].host];
  if (host.lends && host.is_up) host.client.offer(devices[device].name);  // it is good for that yet
  std::uint32_t backend = device_states_[device].backend;
  SG_ASSERT(backends_[backend - 1].usable > 0, "a device is retired twice");
  if (--backends_[backend - 1].usable == 0) fail_hopeless(backend);
}

// Nobody is left who could judge them.
void EvaluationPool::State::fail_hopeless(std::uint32_t backend) {
  std::vector<FlightPtr> hopeless;
  for (const auto& [key, flight] : flights_) {
    if (flight->backend == backend) hopeless.push_back(flight);
  }
  for (const auto& [job, flight] : jobs_) {
    if (flight->backend == backend && flight->is_tuning) hopeless.push_back(flight);
  }
  std::ranges::sort(hopeless, {}, [](const FlightPtr& flight) { return flight->job; });
  for (const FlightPtr& flight : hopeless) {
    finish(*flight, fail(ErrorCode::device_missing, fmt::format("the last {} device is out of use",
                                                                backends_[backend - 1].name)));
  }
}

// Waits while the host is away. False: it is given up.
Task<bool> EvaluationPool::State::host_is_up(HostEntry& host) {
  if (host.is_up) {
    auto facts = co_await host.client.hello();
    if (facts) co_return true;
    if (host.is_up) {  // nobody else has noticed meanwhile
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
  while (!host.is_up && !host.is_given_up) co_await host.changed.wait();
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
  host.is_given_up = true;
  host.changed.set();
  for (std::size_t device : host.devices) {
    if (device_states_[device].condition == DeviceCondition::quarantined) continue;
    retire(device, DeviceCondition::lost);
  }
}

// ── idle devices ──

void EvaluationPool::State::became_idle(std::size_t device) {
  DeviceState& state = device_states_[device];
  if (!hosts_[state.host].lends || devices[device].is_lane || state.is_offered) return;
  if (state.condition != DeviceCondition::ready) return;
  state.idle_stamp = ++last_idle_stamp_;
  idle_.push_back({device, state.idle_stamp, loop_.now()});
  idle_changed_.set();
  if (!std::exchange(is_offering_, true)) work_.spawn(offer_the_idle());
}

// Devices become due in the order in which they became idle.
Task<void> EvaluationPool::State::offer_the_idle() {
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
