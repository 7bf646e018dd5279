#pragma once
// The implementation of EvaluationPool, private to this folder. evaluation_pool.cc leads a candidate through
// its stages,
// pool_tuning.cc tunes a judged one, pool_devices.cc handles devices and hosts.

#include <deque>
#include <unordered_map>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "schedule/evaluation_pool.h"
#include "schedule/pending_evaluation.h"
#include "schedule/verdict_memory.h"

namespace specgen {

class EvaluationPool::State {
 public:
  State(EvaluationPool& pool, Loop& loop, const std::vector<Host*>& hosts, PoolSettings settings);

  Task<Result<void>> open();
  void prepare(const std::vector<UpcomingTask>& tasks);
  Task<Result<Judged>> evaluate(Candidate candidate);
  Task<Result<std::optional<TunedCandidate>>> tune(Candidate candidate, Speedup confirmed);
  void end_iteration(IterationId iteration);
  void remember(const Candidate& candidate, const Judged& judged);
  PoolLoad load() const { return scheduler_.load(loop_.now()); }
  Duration device_time() const;

  PoolCounters counters;
  std::vector<PoolDevice> devices;

 private:
  using PendingPtr = std::shared_ptr<PendingEvaluation>;

  struct HostEntry {
    HostEntry(Loop& loop, Host& its_host) : host(its_host), client(loop, its_host), changed(loop) {}
    Host& host;
    HostClient client;
    std::vector<std::size_t> devices = {};  // indexes, with compile slots
    bool shares_memory = false;             // of idle devices, with an LLM server
    bool is_up = true;
    bool is_abandoned = false;
    Event changed;  // set while the host is up or abandoned
  };
  struct DeviceState {
    std::size_t host = 0;
    std::uint32_t backend = 0;
    DeviceCondition condition = DeviceCondition::ready;
    bool is_running = false;
    int failed_canaries = 0;
    int failures = 0;  // since a job succeeded
    Role role = Role::any;
    bool is_offered = false;
    std::uint64_t idle_stamp = 0;  // of its latest idle period; 0: not idle
  };
  struct BackendState {
    std::string name;
    std::string models;      // all, sorted: a verdict holds for these
    std::size_t usable = 0;  // devices that are neither quarantined nor lost
  };
  struct IdleSince {
    std::size_t device;
    std::uint64_t stamp;
    Time since;
  };
  struct WaiterGuard;  // removes a waiter when its evaluate() ends
  struct TuningGuard;

  // Candidates.
  void join(EvaluationWaiter& waiter, Candidate candidate, std::string key, std::uint32_t backend);
  void leave(EvaluationWaiter& waiter);
  void set_urgency(PendingEvaluation& pending);
  void submit(const PendingPtr& pending, Stage stage);
  void start_ready_jobs();
  Task<void> run(PendingPtr pending, Start start);
  Task<Result<StageOutcome>> perform(const PendingEvaluation& pending, const DeviceState& device,
                                     const std::string& name);
  void stage_ended(PendingEvaluation& pending, std::size_t device, Time started, bool useful);
  void advance(const PendingPtr& pending, StageOutcome outcome, std::size_t device);
  void retry(const PendingPtr& pending, const Error& error, std::size_t device);
  void finish(PendingEvaluation& pending, const Result<Judged>& result);
  void withdraw(PendingEvaluation& pending);
  void close(PendingEvaluation& pending);
  void answer(EvaluationWaiter& waiter, Result<Judged> result);
  void advance_tuning(const PendingPtr& pending, StageOutcome outcome, std::size_t device);
  void take_winner(const PendingPtr& pending, const StageOutcome& swept);
  void end_tuning(PendingEvaluation& pending, Judged judged);
  void leave_tuning(EvaluationWaiter& waiter);
  std::uint32_t number_of_task(const std::string& task);

  // Devices and hosts.
  Task<void> connect_to(HostEntry& host, std::optional<HostFacts>& facts,
                        std::optional<Error>& error);
  void add_devices(std::size_t host, const HostFacts& facts);
  Task<void> prepare_on(std::size_t device, std::vector<UpcomingTask> tasks);
  std::uint32_t number_of_backend(const std::string& name);  // 0: unknown
  void fence(std::size_t device, std::string task);
  Task<void> recover(std::size_t device, std::string task);
  Task<bool> host_is_up(HostEntry& host);
  Task<void> reconnect(HostEntry& host);
  void put_back(std::size_t device);
  void retire(std::size_t device, DeviceCondition condition);
  void fail_all_pending(std::uint32_t backend);
  void set_condition(std::size_t device, DeviceCondition condition);

  // Idle devices.
  void became_idle(std::size_t device);
  Task<void> offer_idle_devices();

  void notify(const PoolEvent& event) const {
    if (pool_.on_event) pool_.on_event(event);
  }
  DeviceId id_of(std::size_t device) const { return devices[device].id; }

  EvaluationPool& pool_;
  Loop& loop_;
  PoolSettings settings_;
  Scheduler scheduler_;
  VerdictMemory memory_;
  std::deque<HostEntry> hosts_;
  std::vector<DeviceState> device_states_;  // parallel to `devices`
  std::vector<BackendState> backends_;      // number 1 is the first
  std::unordered_map<std::string, std::uint32_t> tasks_;
  std::unordered_map<std::string, PendingPtr> pending_;  // by key
  std::unordered_map<JobId, PendingPtr> jobs_;           // queued and running
  std::unordered_map<IterationId, std::vector<EvaluationWaiter*>> speculation_;
  IdSource<JobId> job_ids_;
  std::optional<Time> opened_;
  std::optional<Time> review_at_;  // a review() sleeps until then
  std::deque<IdleSince> idle_;
  std::uint64_t last_idle_stamp_ = 0;
  bool is_offering_ = false;
  Event idle_changed_;
  TaskGroup work_;  // last: its tasks use the members above

  Task<void> review(Time when);
};

}  // namespace specgen
