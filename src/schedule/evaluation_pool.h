#pragma once
// Where candidates go and feedback comes from: all devices of all hosts, leased one job at a time.
//
//   Judged judged = CO_TRY(co_await pool.evaluate(candidate));
//
// Destroying that task withdraws the candidate, unless somebody else waits for an equal one; what has started on a
// device ends there and is remembered. Equal candidates (white space and comments apart) of a task are judged once.
// When an executor dies, hangs or talks nonsense, its device is fenced, its processes are killed, the job goes to
// another device, and the device must pass its canary; failing that twice, it is in quarantine. A candidate that
// takes `max_attempts` executors with it is called harness_error.
//
// Owned by the run. Hosts outlive it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtime/loop.h"
#include "schedule/host_client.h"
#include "schedule/host_link.h"
#include "schedule/scheduler.h"

namespace specgen {

struct PoolSettings {
  SchedulerSettings scheduler = {};
  enum class AfterIteration : std::uint8_t {
    demote,
    withdraw
  } after_iteration = AfterIteration::demote;
  std::size_t max_attempts = 3;
  int canaries_before_quarantine = 2;
  std::size_t remembered_verdicts = 100'000;
  // Beyond which an executor counts as hanging.
  Duration compile_limit = std::chrono::seconds(120);
  Duration device_limit = std::chrono::minutes(5);
  Duration host_away_limit = std::chrono::minutes(30);  // then a host is given up
  // Idle for so long, a device is offered as cache to its host, which takes it back when the next job comes.
  Duration offer_after = std::chrono::seconds(2);
};

// What happened, for pictures, checks and the journal. In the order in which it happened.
struct StageQueued {
  CandidateId candidate;
  Stage stage;
};
struct StageStarted {
  CandidateId candidate;
  Stage stage;
  DeviceId device;
};
struct StageEnded {
  CandidateId candidate;
  Stage stage;
  DeviceId device;
  bool useful = true;  // false: the executor failed, and the stage is done again
};
struct CandidateEnded {
  CandidateId candidate;
  Verdict verdict;
  bool withdrawn = false;
};
enum class DeviceCondition : std::uint8_t { ready, fenced, quarantined, lost };
struct DeviceChanged {
  DeviceId device;
  DeviceCondition condition;
};
struct RoleChanged {
  DeviceId device;
  Role role;
};
using PoolEvent =
    std::variant<StageQueued, StageStarted, StageEnded, CandidateEnded, DeviceChanged, RoleChanged>;

struct PoolDevice {
  DeviceId id;
  std::string host;
  std::string name;  // "cpu:0"; of a lane "lane"
  std::string model;
  bool is_lane = false;
};

struct PoolCounters {
  std::uint64_t judged = 0;
  std::uint64_t repeated = 0;  // answered without work
  std::uint64_t withdrawn = 0;
  std::uint64_t fenced = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t offered = 0;  // idle devices, as cache
  Duration useful{};          // device time of stages that counted
  Duration wasted{};  // of stages that had to be done again, and of candidates that were withdrawn
};

// A candidate with the tunables that suit it best.
struct TunedCandidate {
  std::string source;  // with them as the defaults
  Values tunables;
  Judged judged;
};

// What candidates will be of.
struct TaskToCome {
  std::string task;
  std::string backend;
  Values shapes = {};
};

class EvaluationPool {
 public:
  EvaluationPool(Loop& loop, std::vector<Host*> hosts, PoolSettings settings);
  ~EvaluationPool();

  // Greets every host. device_missing if no device is left.
  Task<Result<void>> open();
  // Has the devices prepare tasks before their first candidates are there: every task somewhere, and something on every
  // device. Returns at once. What is wrong with a task is told when a candidate of it is judged.
  void prepare(const std::vector<TaskToCome>& tasks);
  // An error is the task's fault or the environment's (no device is left): no candidate can help it.
  Task<Result<Judged>> evaluate(Candidate candidate);
  // Sweeps the tunables of one that was judged, when nothing else wants a device. What wins is judged as a candidate of
  // its own; nothing if none is faster than `confirmed`, or if it could not be tried. Destroying the task gives it up.
  Task<Result<std::optional<TunedCandidate>>> tune(Candidate candidate, Speedup confirmed);
  // What is left of its speculation waits behind everything else, or is withdrawn.
  void end_iteration(IterationId iteration);
  // What was judged before, from the journal: equal candidates are not judged again.
  void remember(const Candidate& candidate, const Judged& judged);

  PoolLoad load() const;
  const PoolCounters& counters() const;
  std::span<const PoolDevice> devices() const;
  Duration device_time() const;  // of all devices together, since open()

  std::function<void(const PoolEvent&)> on_event;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Equal for candidates that differ in white space and comments only.
std::string normalised_source(std::string_view source);

}  // namespace specgen
