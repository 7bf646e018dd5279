#include "simulate/simulated_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "journal/virtual_storage.h"
#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/virtual_driver.h"
#include "search/run.h"
#include "search/workflows.h"
#include "simulate/simulation_checks.h"
#include "simulate/virtual_host.h"
#include "simulate/virtual_kernel.h"
#include "simulate/virtual_model.h"

namespace specgen {
namespace {

constexpr Bytes kDisk = GiB(64);
constexpr std::uint64_t kMaxRestarts = 10'000;
constexpr Duration kRetryStart = std::chrono::seconds(10);   // of a controller that found no device
constexpr Duration kMaxCountdown = std::chrono::minutes(1);  // until a kill
constexpr Duration kProgressEvery = std::chrono::minutes(10);

std::string task_name(std::int64_t task) {
  return fmt::format("task{}", task);
}

class SimulatedRun {
 public:
  SimulatedRun(const Scenario& scenario, std::uint64_t seed, const SimulationParts& parts)
      : scenario_(scenario),
        parts_(parts),
        driver_(seed),
        loop_(driver_),
        random_(Random(seed).fork("world")),  // renaming the label would change all figures
        faults_(scenario.faults, random_.fork("faults")),
        endpoint_(loop_, scenario.model.endpoint),
        checks_(loop_, scenario_, disk_, faults_),
        kill_(loop_),
        disk_has_space_(loop_) {
    report_.seed = seed;
    disk_.capacity = kDisk;
    disk_has_space_.set();
    for (std::int64_t i = 0; i < scenario.hosts; ++i) {
      hosts_.push_back(std::make_unique<VirtualHost>(
          loop_, fmt::format("host{}", i), scenario.host, scenario.model.skill.ceiling, faults_,
          random_.fork("host"), [this](std::string what) { checks_.violated(std::move(what)); }));
    }
  }

  Result<SimulationReport> run() {
    workflow_ = TRY(make_workflow());
    loop_.run(run_controllers());
    report_.trace_hash = loop_.trace_hash();
    report_.events = loop_.events();
    report_.simulated = loop_.now().time_since_epoch();
    report_.violations = checks_.violations();
    report_.faults = faults_.counts();
    return std::move(report_);
  }

 private:
  Result<Workflow> make_workflow() {
    for (std::int64_t task = 0; task < scenario_.run.workflows; ++task) {
      briefs_.push_back({.title = task_name(task),
                         .backend = "cpu",
                         .description = "A virtual computation over rows and columns of f32.",
                         .signature =
                             "extern \"C\" void kernel(const float* in, float* out, long n, "
                             "void* scratch, int tid, int nthreads)",
                         .hardware = "virtual core",
                         .baseline = virtual_kernel({})});
    }
    return find_workflow(scenario_.run.workflow, {.prompts = parts_.prompts, .briefs = briefs_});
  }

  RunPlan plan() const {
    RunPlan plan;
    plan.begin.workflow = scenario_.run.workflow;
    plan.begin.criterion = scenario_.run.criterion;
    plan.begin.model = "virtual";
    plan.begin.speculate = scenario_.speculation.harvest || scenario_.speculation.forks;
    plan.begin.seed = report_.seed;
    plan.begin.budgets = {.wall = scenario_.run.time_budget,
                          .tokens = scenario_.run.token_budget,
                          .dollars = 0,
                          .iterations = scenario_.run.iterations};
    for (std::int64_t task = 0; task < scenario_.run.workflows; ++task) {
      std::string name = task_name(task);
      plan.begin.tasks.push_back({.name = name, .where = name, .backend = "cpu"});
    }
    for (std::int64_t host = 0; host < scenario_.hosts; ++host) {
      for (std::int64_t device = 0; device < scenario_.host.devices; ++device) {
        plan.begin.devices.push_back(fmt::format("host{}/cpu:{}", host, device));
      }
    }
    plan.workflow = workflow_;
    plan.speculation = scenario_.speculation;
    plan.max_tokens = scenario_.run.max_tokens;
    plan.patience = scenario_.run.patience;
    plan.max_streams = static_cast<int>(scenario_.run.max_streams);
    return plan;
  }

  // Starts controllers until one of them reaches the end of the run.
  Task<void> run_controllers() {
    TaskGroup faults(loop_);
    spawn_faults(faults);
    for (std::uint64_t restart = 0; restart < kMaxRestarts; ++restart) {
      kill_.reset();
      auto outcome = co_await race(control(), until_kill(),
                                   loop_.sleep_until(Time(scenario_.checks.max_time)));
      if (outcome.get<2>()) {
        checks_.violated("the run does not end");
        co_return;
      }
      if (outcome.second()) {
        checks_.controller_killed();
        faults_.count(Fault::controller_kill);
        co_await loop_.sleep(scenario_.faults.restart);
        continue;
      }
      Result<RunEnd>& end = *outcome.first();
      if (end) {
        report_.ended = end->why;
        report_.state = checks_.ended(end->why, last_digest_);
        co_return;
      }
      if (!is_transient(end.error())) {
        checks_.violated("the run failed: " + end.error().summary());
        co_return;
      }
      checks_.controller_killed();
      // An operator frees disk space or repairs the hosts, and restarts it.
      co_await disk_has_space_.wait();
      co_await loop_.sleep(kRetryStart);
    }
    checks_.violated("too many restarts");
  }

  static bool is_transient(const Error& error) {
    return error.code == ErrorCode::disk_full || error.code == ErrorCode::device_missing ||
           error.code == ErrorCode::device_failed;
  }

  // One controller. Destroying this task is a kill.
  Task<Result<RunEnd>> control() {
    ++report_.controllers;
    VirtualStorage storage(loop_, disk_);
    CallLedger ledger;
    VirtualModel model(loop_, scenario_.model, endpoint_, faults_, ledger, random_.fork("model"));
    std::vector<Host*> hosts;
    for (auto& host : hosts_) hosts.push_back(host.get());
    EvaluationPool pool(loop_, std::move(hosts), scenario_.pool);
    pool.on_event = [this](const PoolEvent& event) { checks_.on(event); };
    struct Totals {  // added however the controller ends
      ~Totals() { simulation.add_totals(pool); }
      SimulatedRun& simulation;
      EvaluationPool& pool;
    } totals{*this, pool};
    CO_TRY(co_await pool.open());
    RunListener listener;
    listener.on_entry = [this](const Entry& entry) { on_entry(entry); };
    auto run = CO_TRY(co_await Run::open({.loop = loop_,
                                          .storage = storage,
                                          .model = model,
                                          .ledger = ledger,
                                          .pool = pool,
                                          .triggers = parts_.triggers},
                                         plan(), std::move(listener)));
    checks_.controller_started(run->state());
    TaskGroup watching(loop_);
    if (parts_.on_progress) watching.spawn(report_progress(*run));
    auto end = co_await run->go();
    last_digest_ = run->state().digest();
    co_return end;
  }

  Task<void> report_progress(Run& run) {
    while (true) {
      co_await loop_.sleep(kProgressEvery);
      parts_.on_progress(loop_.now().time_since_epoch(), run.state());
    }
  }

  void on_entry(const Entry& entry) {
    checks_.on(entry);
    if (entries_until_kill_ > 0 && --entries_until_kill_ == 0) kill_.set();
  }

  void add_totals(const EvaluationPool& pool) {
    const PoolCounters& counters = pool.counters();
    report_.device_time += pool.device_time();
    report_.pool.judged += counters.judged;
    report_.pool.repeated += counters.repeated;
    report_.pool.withdrawn += counters.withdrawn;
    report_.pool.fenced += counters.fenced;
    report_.pool.quarantined += counters.quarantined;
    report_.pool.useful += counters.useful;
    report_.pool.wasted += counters.wasted;
  }

  // Returns when this controller is to be killed: at a random time, or shortly after a write to the journal.
  Task<void> until_kill() {
    Random& chance = faults_.chance(Fault::controller_kill);
    co_await loop_.sleep(faults_.until_next(Fault::controller_kill));
    constexpr std::uint64_t kMaxEntries = 6, kMaxTurns = 8;
    if (chance.chance(0.5)) {
      entries_until_kill_ = 1 + chance.below(kMaxEntries);
      co_await race(kill_.wait(), loop_.sleep(kMaxCountdown));
    }
    std::uint64_t turns = chance.below(kMaxTurns);
    for (std::uint64_t i = 0; i < turns; ++i) co_await loop_.yield();
    entries_until_kill_ = 0;
  }

  void spawn_faults(TaskGroup& group);
  Task<void> storms();
  Task<void> outages();
  Task<void> slow_tokens();
  Task<void> cache_losses();
  Task<void> clock_jumps();
  Task<void> full_disks();
  Task<void> crashes(VirtualHost& host);
  Task<void> slow_devices(VirtualHost& host);
  Time lasting(Fault fault, Duration mean) {
    return loop_.now() + from_seconds(faults_.chance(fault).exponential(seconds(mean)));
  }

  const Scenario& scenario_;
  const SimulationParts& parts_;
  VirtualDriver driver_;
  Loop loop_;
  Random random_;
  Faults faults_;
  VirtualDisk disk_;
  VirtualEndpoint endpoint_;
  SimulationChecks checks_;
  std::vector<std::unique_ptr<VirtualHost>> hosts_;
  std::vector<TaskBrief> briefs_;
  Workflow workflow_;
  Event kill_;
  std::uint64_t entries_until_kill_ = 0;
  Event disk_has_space_;
  std::uint64_t last_digest_ = 0;  // of a run that has ended
  SimulationReport report_;
};

void SimulatedRun::spawn_faults(TaskGroup& group) {
  auto is_enabled = [&](Fault fault) { return scenario_.faults.rate(fault) > 0; };
  if (is_enabled(Fault::overload_storm)) group.spawn(storms());
  if (is_enabled(Fault::outage)) group.spawn(outages());
  if (is_enabled(Fault::slow_tokens)) group.spawn(slow_tokens());
  if (is_enabled(Fault::cache_loss)) group.spawn(cache_losses());
  if (is_enabled(Fault::clock_jump)) group.spawn(clock_jumps());
  if (is_enabled(Fault::disk_full)) group.spawn(full_disks());
  for (auto& host : hosts_) {
    if (is_enabled(Fault::node_crash)) group.spawn(crashes(*host));
    if (is_enabled(Fault::slow_device)) group.spawn(slow_devices(*host));
  }
}

Task<void> SimulatedRun::storms() {
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::overload_storm));
    faults_.count(Fault::overload_storm);
    endpoint_.overload_until(lasting(Fault::overload_storm, scenario_.faults.storm));
  }
}

Task<void> SimulatedRun::outages() {
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::outage));
    faults_.count(Fault::outage);
    endpoint_.away_until(lasting(Fault::outage, scenario_.faults.outage));
  }
}

Task<void> SimulatedRun::slow_tokens() {
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::slow_tokens));
    faults_.count(Fault::slow_tokens);
    endpoint_.slow_until(lasting(Fault::slow_tokens, scenario_.faults.slow_tokens),
                         scenario_.faults.slow_factor);
  }
}

Task<void> SimulatedRun::cache_losses() {
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::cache_loss));
    faults_.count(Fault::cache_loss);
    endpoint_.drop_prefixes();
  }
}

// By minutes, hours or years, forwards or backwards.
Task<void> SimulatedRun::clock_jumps() {
  using std::chrono::milliseconds;
  Random& chance = faults_.chance(Fault::clock_jump);
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::clock_jump));
    faults_.count(Fault::clock_jump);
    constexpr std::array<std::int64_t, 3> kJumps{60'000, 3'600'000, 31'536'000'000};
    std::int64_t jump = kJumps[chance.below(kJumps.size())];
    driver_.jump_wall_clock(milliseconds(chance.chance(0.5) ? jump : -jump));
  }
}

Task<void> SimulatedRun::full_disks() {
  Random& chance = faults_.chance(Fault::disk_full);
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::disk_full));
    faults_.count(Fault::disk_full);
    // A little space is left, so that it fails in the middle of an operation.
    constexpr std::uint64_t kMaxLeft = 4000;
    disk_.capacity = {disk_.used_bytes + chance.below(kMaxLeft)};
    disk_has_space_.reset();
    co_await loop_.sleep_until(lasting(Fault::disk_full, scenario_.faults.disk_full));
    disk_.capacity = kDisk;
    disk_has_space_.set();
  }
}

Task<void> SimulatedRun::crashes(VirtualHost& host) {
  while (true) {
    co_await loop_.sleep(faults_.until_next(Fault::node_crash));
    faults_.count(Fault::node_crash);
    host.crash_until(lasting(Fault::node_crash, scenario_.faults.node_away));
  }
}

Task<void> SimulatedRun::slow_devices(VirtualHost& host) {
  while (true) {
    auto devices = static_cast<double>(host.devices());
    co_await loop_.sleep(faults_.until_next(Fault::slow_device, devices));
    faults_.count(Fault::slow_device);
    std::size_t device = faults_.chance(Fault::slow_device).below(host.devices());
    host.slow_down(device, lasting(Fault::slow_device, scenario_.faults.slow_device),
                   scenario_.faults.slow_factor);
  }
}

}  // namespace

Result<SimulationReport> simulate_run(const Scenario& scenario, std::uint64_t seed,
                                      const SimulationParts& parts) {
  SimulatedRun simulation(scenario, seed, parts);
  return simulation.run();
}

}  // namespace specgen
