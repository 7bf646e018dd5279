// The cost of a scheduling decision with 1,000 devices and 10,000 queued jobs, and of a role switch.

#include <fmt/format.h>

#include <queue>

#include "base/random.h"
#include "figures.h"
#include "schedule/scheduler.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kDevices = 1'000;
constexpr std::uint64_t kQueued = 10'000;
constexpr int kRounds = 200'000;

struct Costs {
  std::vector<double> decision_us;  // ended(), the follow-up submit(), and next()
  std::vector<double> submit_us;
};

Stage some_stage(Random& random) {
  constexpr std::array kStagesOfDevices{Stage::validate, Stage::validate, Stage::profile,
                                        Stage::tune};
  return kStagesOfDevices[random.below(kStagesOfDevices.size())];
}

Costs measure(SchedulerSettings settings) {
  Random random(1);
  Scheduler scheduler(settings);
  for (std::uint64_t i = 1; i <= kDevices; ++i) {
    scheduler.add_device(DeviceId{i}, 1, static_cast<std::uint32_t>(1 + i % 50));
  }
  IdSource<JobId> ids;
  Time now{};
  auto submit = [&] {
    scheduler.submit({.id = ids.next(),
                      .stage = some_stage(random),
                      .urgency = static_cast<Urgency>(random.below(3)),
                      .task = static_cast<std::uint32_t>(1 + random.below(500)),
                      .backend = 1,
                      .host = static_cast<std::uint32_t>(1 + random.below(50))},
                     now);
  };
  struct Running {
    Time until;
    JobId job;
    bool operator<(const Running& other) const { return until > other.until; }
  };
  std::priority_queue<Running> running;
  auto started = [&](const Start& start) {
    running.push({now + start.switching + from_seconds(random.exponential(4)), start.job});
  };
  while (scheduler.queued() < kQueued) submit();
  while (auto start = scheduler.next(now)) started(*start);

  Costs costs;
  for (int i = 0; i < kRounds; ++i) {
    while (scheduler.queued() < kQueued) {
      Stopwatch watch;
      submit();
      costs.submit_us.push_back(1e6 * watch.seconds());
    }
    Running next = running.top();
    running.pop();
    now = std::max(now, next.until);
    Stopwatch watch;
    scheduler.ended(next.job, now);
    auto start = scheduler.next(now);
    costs.decision_us.push_back(1e6 * watch.seconds());
    for (; start; start = scheduler.next(now)) started(*start);
  }
  return costs;
}

// One device, and work of alternating kinds.
double switch_us() {
  Scheduler scheduler({.switching_cost = 1ms});
  for (std::uint64_t i = 1; i <= kDevices; ++i) scheduler.add_device(DeviceId{i}, 1, 1);
  std::vector<double> costs;
  IdSource<JobId> ids;
  Time now{};
  for (int round = 0; round < 50; ++round) {
    for (std::uint64_t i = 0; i < kDevices; ++i) {
      scheduler.submit({.id = ids.next(),
                        .stage = round % 2 == 0 ? Stage::validate : Stage::profile,
                        .task = 1,
                        .backend = 1},
                       now);
    }
    std::vector<JobId> running;
    while (true) {
      std::uint64_t before = scheduler.role_switches();
      Stopwatch watch;
      auto start = scheduler.next(now);
      if (!start) break;
      if (scheduler.role_switches() > before) costs.push_back(1e6 * watch.seconds());
      running.push_back(start->job);
    }
    now += 4s;
    for (JobId job : running) scheduler.ended(job, now);
  }
  return quantile(costs, 0.99);
}

}  // namespace

void bench_schedule() {
  heading("schedule: decisions with 1,000 devices and 10,000 queued jobs");
  for (auto [name, settings] :
       {std::pair{"elastic, switching is free", SchedulerSettings{}},
        std::pair{"elastic, a switch takes 1 s", SchedulerSettings{.switching_cost = 1s}},
        std::pair{"split", SchedulerSettings{.form = PoolForm::split}},
        std::pair{"per-task", SchedulerSettings{.form = PoolForm::per_task}}}) {
    Costs costs = measure(settings);
    double p99 = quantile(costs.decision_us, 0.99);
    at_most(fmt::format("decision p99, {}", name), p99, 20, fmt::format("{:.2f} us", p99), "20 us");
    note("  its median; submit p99",
         fmt::format("{:.2f}; {:.2f} us", quantile(costs.decision_us, 0.5),
                     quantile(costs.submit_us, 0.99)));
  }
  double role_switch = switch_us();
  at_most("role switch p99", role_switch / 1e3, 5, fmt::format("{:.2f} us", role_switch), "5 ms");
}

}  // namespace specgen
