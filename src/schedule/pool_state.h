#pragma once
// The inside of EvaluationPool, private to this folder. evaluation_pool.cc has the way of a candidate,
// pool_tuning.cc the second one of those that are tuned, pool_devices.cc what happens to devices and hosts.

#include <deque>
#include <unordered_map>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "schedule/evaluation_pool.h"
#include "schedule/flight.h"
#include "schedule/verdict_memory.h"

namespace specgen {

class EvaluationPool::State {
 public:
  State(EvaluationPool& pool, Loop& loop, const std::vector<Host*>& hosts, PoolSettings settings);

  Task<Result<void>> open();
  void prepare(const std::vector<TaskToCome>& tasks);
  Task<Result<Judged>> evaluate(Candidate candidate);
  Task<Result<std::optional<TunedCandidate>>> tune(Candidate candidate, Speedup confirmed);
  void end_iteration(IterationId iteration);
  void remember(const Candidate& candidate, const Judged& judged);
  PoolLoad load() const { return scheduler_.load(loop_.now()); }
  Duration device_time() const;

  PoolCounters counters;
  std::vector<PoolDevice> devices;

 private:
  using FlightPtr = std::shared_ptr<Flight>;

  struct HostEntry {
    HostEntry(Loop& loop, Host& its_host) : host(its_host), client(loop, its_host), changed(loop) {}
    Host& host;
    HostClient client;
    std::vector<std::size_t> devices = {};  // indexes, lanes too
    bool lends = false;                     // memory of idle devices, to an LLM server
    bool is_up = true;
    bool is_given_up = false;
    Event changed;  // set when it is neither away nor looked for
  };
  struct DeviceState {
    std::size_t host = 0;
    std::uint32_t backend = 0;
    DeviceCondition condition = DeviceCondition::ready;
    bool is_running = false;
    int failed_canaries = 0;
    int failures = 0;  // since a job went well
    Role role = Role::any;
    bool is_offered = false;
    std::uint64_t idle_stamp = 0;  // of its latest time of being idle
  };
  struct BackendState {
    std::string name;
    std::string models;      // all, sorted: what a verdict is about
    std::size_t usable = 0;  // devices that are not gone for good
  };
  struct IdleSince {
    std::size_t device;
    std::uint64_t stamp;
    Time since;
  };
  struct InterestGuard;  // takes an interest out when its evaluate() goes
  struct TuningGuard;

  // The way of a candidate.
  void join(Interest& interest, Candidate candidate, std::string key, std::uint32_t backend);
  void leave(Interest& interest);
  void set_urgency(Flight& flight);
  void submit(const FlightPtr& flight, Stage stage);
  void start_what_can();
  Task<void> run(FlightPtr flight, Start start);
  Task<Result<StageOutcome>> perform(const Flight& flight, const DeviceState& device,
                                     const std::string& name);
  void stage_ended(Flight& flight, std::size_t device, Time started, bool useful);
  void advance(const FlightPtr& flight, StageOutcome outcome, std::size_t device);
  void retry(const FlightPtr& flight, const Error& error, std::size_t device);
  void finish(Flight& flight, const Result<Judged>& result);
  void withdraw(Flight& flight);
  void close(Flight& flight);
  void answer(Interest& interest, Result<Judged> result);
  void advance_tuning(const FlightPtr& flight, StageOutcome outcome, std::size_t device);
  void take_winner(const FlightPtr& flight, const StageOutcome& swept);
  void end_tuning(Flight& flight, Judged judged);
  void leave_tuning(Interest& interest);
  std::uint32_t number_of_task(const std::string& task);

  // Devices and hosts.
  Task<void> greet(HostEntry& host, std::optional<HostFacts>& facts, std::optional<Error>& error);
  void add_devices(std::size_t host, const HostFacts& facts);
  Task<void> prepare_on(std::size_t device, std::vector<TaskToCome> tasks);
  std::uint32_t number_of_backend(const std::string& name);  // 0: there is none
  void fence(std::size_t device, std::string task);
  Task<void> recover(std::size_t device, std::string task);
  Task<bool> host_is_up(HostEntry& host);
  Task<void> reconnect(HostEntry& host);
  void put_back(std::size_t device);
  void retire(std::size_t device, DeviceCondition condition);
  void fail_hopeless(std::uint32_t backend);
  void set_condition(std::size_t device, DeviceCondition condition);

  // Idle devices.
  void became_idle(std::size_t device);
  Task<void> offer_the_idle();

  void tell(const PoolEvent& event) const {
    if (pool_.on_event) pool_.on_event(event);
  }
  DeviceId id_of(std::size_t device) const { return devices[device].id; }

  EvaluationPool& pool_;
  Loop& loop_;
  PoolSettings settings_;
  Scheduler scheduler_;
  VerdictMemory memory_;
  std::deque<HostEntry> hosts_;
  std::vector<DeviceState> device_states_;  // beside `devices`
  std::vector<BackendState> backends_;      // number 1 is the first
  std::unordered_map<std::string, std::uint32_t> tasks_;
  std::unordered_map<std::string, FlightPtr> flights_;  // by key
  std::unordered_map<JobId, FlightPtr> jobs_;           // that wait or run
  std::unordered_map<IterationId, std::vector<Interest*>> speculation_;
  IdSource<JobId> job_ids_;
  std::optional<Time> opened_;
  std::optional<Time> review_at_;  // somebody sleeps until then
  std::deque<IdleSince> idle_;
  std::uint64_t last_idle_stamp_ = 0;
  bool is_offering_ = false;
  Event idle_changed_;
  TaskGroup work_;  // last: it uses all of the above

  Task<void> review(Time when);
};

}  // namespace specgen
