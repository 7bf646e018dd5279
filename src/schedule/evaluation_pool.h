#pragma once
// Evaluates candidates on all devices of all hosts, one job per device at a time.
//
//   Judged judged = CO_TRY(co_await pool.evaluate(candidate));
//
// Destroying that task withdraws the candidate, unless another task waits for an equal one; a stage that has started
// runs to its end, and its verdict is remembered. Candidates of a task that differ only in white space and comments are
// equal and are judged once. When an executor dies, hangs or sends invalid messages, its device is fenced, its
// processes
// are killed, the job moves to another device, and the device must pass a canary; failing that twice, it is
// quarantined.
// A candidate that brings down `max_attempts` executors gets the verdict harness_error.
//
// Owned by the run. Hosts must outlive it.

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
  // After which an executor counts as hanging.
  Duration compile_limit = std::chrono::seconds(120);
  Duration device_limit = std::chrono::minutes(5);
  Duration host_away_limit = std::chrono::minutes(30);  // then a host is abandoned
  // Idle time after which a device's memory is offered to its host as cache, until the next job arrives.
  Duration offer_after = std::chrono::seconds(2);
};

// Events for reports, checks and the journal, in the order in which they happen.
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
  bool useful = true;  // false: the executor failed, and the stage is repeated
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

// The name of all compile slots, in stage spans. Older journals have "lane" in its place.
inline constexpr std::string_view kCompileSlotName = "compile";

struct PoolDevice {
  DeviceId id;
  std::string host;
  std::string name;  // "cpu:0"; of a compile slot kCompileSlotName
  std::string model;
  bool is_compile_slot = false;
};

struct PoolCounters {
  std::uint64_t judged = 0;
  std::uint64_t repeated = 0;  // answered without new work
  std::uint64_t withdrawn = 0;
  std::uint64_t fenced = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t offered = 0;  // idle devices, as cache memory
  Duration useful{};          // device time of stages that counted
  Duration wasted{};          // of stages that had to be repeated, and of withdrawn candidates
};

// A candidate with the best values found for its tunables.
struct TunedCandidate {
  std::string source;  // with these values as defaults
  Values tunables;
  Judged judged;
};

// A task of which candidates will follow.
struct UpcomingTask {
  std::string task;
  std::string backend;
  Values shapes = {};
};

class EvaluationPool {
 public:
  EvaluationPool(Loop& loop, std::vector<Host*> hosts, PoolSettings settings);
  ~EvaluationPool();

  // Connects to every host. device_missing if there is no device.
  Task<Result<void>> open();
  // Starts to prepare tasks before their first candidates arrive: every task on some device, and some task on every
  // device. Returns at once. An error in a task is reported when a candidate of it is evaluated.
  void prepare(const std::vector<UpcomingTask>& tasks);
  // An error is the fault of the task or of the environment (no device is left), never of the candidate.
  Task<Result<Judged>> evaluate(Candidate candidate);
  // Sweeps the tunables of a judged candidate on otherwise idle devices, and evaluates the winner as a candidate of its
  // own. Nothing if no values are faster than `confirmed`, or if the sweep failed. Destroying the task abandons it.
  Task<Result<std::optional<TunedCandidate>>> tune(Candidate candidate, Speedup confirmed);
  // Demotes what is left of the iteration's speculation behind everything else, or withdraws it.
  void end_iteration(IterationId iteration);
  // Adds a verdict from the journal, so that equal candidates are not judged again.
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

}  // namespace specgen
