// The burst study: which form of pool turns candidates into feedback soonest. A small discrete-event driver runs the
// real Scheduler in virtual time: ten devices, the same arrivals for every form, twenty seeds per cell.
//
// A candidate has its feedback when it has failed its validation or was profiled. Compiling is left out, as it holds
// no device. A pool without roles serves the job nearest to feedback on any idle device, and pays the switching cost
// whenever a device changes its kind of work.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <ranges>

#include "base/random.h"
#include "figures.h"
#include "schedule/scheduler.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDevices = 10;
constexpr std::uint32_t kTasks = 10;
constexpr std::uint64_t kSeeds = 20;
constexpr std::array kLoads{0.75, 0.6, 0.85};                // erlangs per device
constexpr std::array<std::uint64_t, 2> kFirstSeeds{1, 101};  // the policy was tuned on the first
constexpr double kMinutes = 60;
constexpr double kWarmUp = 120;  // seconds, not counted
constexpr double kPhase = 300;   // seconds until the load shifts
constexpr double kBurst = 12;    // candidates, on average

struct Lengths {
  const char* name;
  double validate;  // seconds
  double profile;
};
constexpr std::array kLengths{Lengths{"2 s / 6 s", 2, 6}, Lengths{"6 s / 2 s", 6, 2},
                              Lengths{"4 s / 4 s", 4, 4}};

enum class Arrivals : std::uint8_t { poisson, bursts };
enum class Shift : std::uint8_t { steady, shifting };

struct Workload {
  Arrivals arrivals;
  Lengths lengths;
  Shift shift;
  double load;
  std::uint64_t first_seed;
};

struct Arrival {
  double at;
  std::uint32_t task;
  bool passes;
  double validate;
  double profile;
};

// The mix of candidates at a time. Where the load shifts, there are phases in which nearly all fail their
// validation, and
// phases in which nearly all pass and a profile takes three times as long as a validation.
struct Kind {
  double passing;
  double validate;
  double profile;
  double work() const { return validate + passing * profile; }
};
Kind kind_at(const Workload& workload, double time) {
  const Lengths& lengths = workload.lengths;
  if (workload.shift == Shift::steady) return {0.5, lengths.validate, lengths.profile};
  bool is_odd = static_cast<int>(time / kPhase) % 2 == 1;
  if (is_odd) return {0.95, lengths.validate, 3 * lengths.validate};
  return {0.1, lengths.validate, lengths.profile};
}

std::vector<Arrival> arrivals_of(const Workload& workload, std::uint64_t seed) {
  Random random(seed);
  constexpr double kSpread = 0.5;
  auto drawn = [&](double mean) {
    return random.log_normal(mean * std::exp(-kSpread * kSpread / 2), kSpread);
  };
  std::vector<Arrival> all;
  double now = 0;
  while (now < 60 * kMinutes) {
    Kind kind = kind_at(workload, now);
    double per_second = workload.load * static_cast<double>(kDevices) / kind.work();
    auto task = static_cast<std::uint32_t>(random.below(kTasks) + 1);
    if (workload.arrivals == Arrivals::poisson) {
      now += random.exponential(1 / per_second);
      all.push_back(
          {now, task, random.chance(kind.passing), drawn(kind.validate), drawn(kind.profile)});
      continue;
    }
    // A burst is of one task, within seconds: the candidates of one reasoning stream.
    now += random.exponential(kBurst / per_second);
    for (double at = now;; at += random.exponential(0.2)) {
      all.push_back(
          {at, task, random.chance(kind.passing), drawn(kind.validate), drawn(kind.profile)});
      if (random.chance(1 / kBurst)) break;
    }
  }
  std::ranges::sort(all, {}, &Arrival::at);
  return all;
}

struct Form {
  const char* name;
  SchedulerSettings settings;
  double paid_by_change =
      0;  // seconds per change of the kind of work of a device, with or without roles
};

struct Outcome {
  std::vector<double> waits;  // seconds from candidate to feedback
  double useful = 0;          // seconds of service
  double device_seconds = 0;
  std::uint64_t switches = 0;
};

class Replay {
 public:
  Replay(const std::vector<Arrival>& arrivals, const Form& form, Outcome& into)
      : arrivals_(arrivals), form_(form), outcome_(into), scheduler_(form.settings) {
    for (std::uint64_t i = 1; i <= kDevices; ++i) scheduler_.add_device(DeviceId{i}, 0, 1);
  }

  void run() {
    std::size_t arrived = 0;
    double now = 0;
    while (arrived < arrivals_.size() || !ends_.empty()) {
      double arrival = arrived < arrivals_.size() ? arrivals_[arrived].at : 1e18;
      double end = ends_.empty() ? 1e18 : ends_.top().at;
      auto review = scheduler_.review_at();
      double reviewed = review ? seconds(review->time_since_epoch()) : 1e18;
      if (reviewed < std::min(arrival, end)) {
        now = std::max(now, reviewed);
      } else if (arrival <= end) {
        now = arrival;
        submit(arrived++, Stage::validate, now);
      } else {
        now = end;
        finish(ends_.top());
        ends_.pop();
      }
      start(now);
    }
    outcome_.device_seconds += now * static_cast<double>(kDevices);
    outcome_.switches += scheduler_.role_switches();
  }

 private:
  struct End {
    double at;
    std::uint64_t job;
    bool operator<(const End& other) const {
      return at != other.at ? at > other.at : job > other.job;
    }
  };
  static Time time(double at) { return Time(from_seconds(at)); }

  // Job 2n + 1 validates candidate n, job 2n + 2 profiles it.
  void submit(std::size_t candidate, Stage stage, double now) {
    scheduler_.submit({.id = JobId{2 * candidate + (stage == Stage::profile ? 2 : 1)},
                       .stage = stage,
                       .urgency = Urgency::speculative,
                       .task = arrivals_[candidate].task},
                      time(now));
  }

  void start(double now) {
    while (auto started = scheduler_.next(time(now))) {
      const Arrival& candidate = arrivals_[(started->job.value - 1) / 2];
      bool profiles = started->job.value % 2 == 0;
      double service = profiles ? candidate.profile : candidate.validate;
      double switching = seconds(started->switching);
      char& kind = kinds_[started->device.value - 1];
      char its_kind = profiles ? 'p' : 'v';
      if (kind != 0 && kind != its_kind && form_.paid_by_change > 0) {
        switching = form_.paid_by_change;
        ++outcome_.switches;
      }
      kind = its_kind;
      outcome_.useful += service;
      ends_.push({now + switching + service, started->job.value});
    }
  }

  void finish(const End& end) {
    scheduler_.ended(JobId{end.job}, time(end.at));
    std::size_t number = (end.job - 1) / 2;
    const Arrival& candidate = arrivals_[number];
    if (end.job % 2 == 1 && candidate.passes) return submit(number, Stage::profile, end.at);
    if (candidate.at >= kWarmUp) outcome_.waits.push_back(end.at - candidate.at);
  }

  const std::vector<Arrival>& arrivals_;
  const Form& form_;
  Outcome& outcome_;
  Scheduler scheduler_;
  std::priority_queue<End> ends_;
  std::array<char, kDevices> kinds_{};
};

struct Measured {
  double mean = 0;
  double p95 = 0;
  double utilisation = 0;
  double switches_per_hour = 0;
};

Measured measure(const std::vector<std::vector<Arrival>>& seeds, const Form& form) {
  Outcome outcome;
  for (const auto& arrivals : seeds) Replay(arrivals, form, outcome).run();
  double sum = 0;
  for (double wait : outcome.waits) sum += wait;
  std::size_t at = outcome.waits.size() * 95 / 100;
  std::ranges::nth_element(outcome.waits, outcome.waits.begin() + static_cast<std::ptrdiff_t>(at));
  return {.mean = sum / static_cast<double>(outcome.waits.size()),
          .p95 = outcome.waits[at],
          .utilisation = outcome.useful / outcome.device_seconds,
          .switches_per_hour =
              static_cast<double>(outcome.switches) / (outcome.device_seconds / kDevices / 3600)};
}

Form split(double share) {
  return {"split", {.form = PoolForm::split, .validating_share = share}};
}

std::string cell(const Measured& measured) {
  return fmt::format("{:6.1f} {:6.1f} {:3.0f} %", measured.mean, measured.p95,
                     100 * measured.utilisation);
}

// The default compared with the others, over all cells.
struct Summary {
  double worst_against_best = 0;
  double min_gain_over_split = 1e18;  // at its best share
  double min_gain_over_half = 1e18;
};

void study(const Workload& workload, Summary& summary) {
  std::vector<std::vector<Arrival>> seeds;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    seeds.push_back(arrivals_of(workload, workload.first_seed + seed));
  }
  Measured half = measure(seeds, split(0.5));
  Measured best = half;
  double best_share = 0.5;
  for (std::size_t validating = 1; validating < kDevices; ++validating) {
    double share = static_cast<double>(validating) / kDevices;
    Measured measured = measure(seeds, split(share));
    if (measured.p95 >= best.p95) continue;
    best = measured;
    best_share = share;
  }
  for (Duration cost : {0s, 1s, 10s}) {
    Measured per_task =
        measure(seeds, {"per-task", {.form = PoolForm::per_task, .switching_cost = cost}});
    Measured role_less = measure(seeds, {"role-less", {}, seconds(cost)});
    Measured elastic = measure(seeds, {"elastic", {.switching_cost = cost}});
    double alternative = std::min({per_task.p95, role_less.p95, best.p95});
    summary.worst_against_best = std::max(summary.worst_against_best, elastic.p95 / alternative);
    if (workload.shift == Shift::shifting) {
      summary.min_gain_over_split = std::min(summary.min_gain_over_split, best.p95 / elastic.p95);
      summary.min_gain_over_half = std::min(summary.min_gain_over_half, half.p95 / elastic.p95);
    }
    fmt::print("  {:<8} {:<9} {:<8} {:>4} | {} | {} | {} {:.1f} | {} | {} {:5.0f}/h | {:5.2f}\n",
               workload.arrivals == Arrivals::poisson ? "Poisson" : "bursts", workload.lengths.name,
               workload.shift == Shift::steady ? "steady" : "shifting",
               fmt::format("{:.0f} s", seconds(cost)), cell(per_task), cell(half), cell(best),
               best_share, cell(role_less), cell(elastic), elastic.switches_per_hour,
               elastic.p95 / alternative);
  }
}

}  // namespace

void bench_bursts() {
  heading("bursts: seconds from candidate to feedback, mean and p95, and utilisation");
  fmt::print("  {} devices, {} tasks, {} min, {} seeds; validate / profile; cost of a switch\n",
             kDevices, kTasks, kMinutes, kSeeds);
  Stopwatch watch;
  for (std::uint64_t first_seed : kFirstSeeds) {
    for (double load : kLoads) {
      fmt::print("\n  load {}, seeds {} to {}\n", load, first_seed, first_seed + kSeeds - 1);
      fmt::print("  {:<33} | {:<19} | {:<19} | {:<23} | {:<19} | {:<27} | ratio\n", "", "per-task",
                 "split, half", "split, best share", "role-less", "elastic, switches");
      Summary summary;
      for (Shift shift : {Shift::steady, Shift::shifting}) {
        for (Arrivals arrivals : {Arrivals::poisson, Arrivals::bursts}) {
          for (const Lengths& lengths : kLengths) {
            study({arrivals, lengths, shift, load, first_seed}, summary);
          }
        }
      }
      at_most("elastic p95 over the best alternative's, worst cell", summary.worst_against_best,
              1.05, fmt::format("{:.2f}", summary.worst_against_best), "1.05");
      at_least("split p95 over elastic's where load shifts, least, half",
               summary.min_gain_over_half, 1.5, fmt::format("{:.2f}", summary.min_gain_over_half),
               "1.5");
      at_least("the same, split at its best share", summary.min_gain_over_split, 1.5,
               fmt::format("{:.2f}", summary.min_gain_over_split), "1.5");
    }
  }
  at_most("time for the study", watch.seconds(), 300, fmt::format("{:.1f} s", watch.seconds()),
          "300 s");
}

}  // namespace specgen
