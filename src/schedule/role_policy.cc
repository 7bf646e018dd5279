#include "schedule/role_policy.h"

#include <algorithm>

namespace specgen {
namespace {

// Tuned on the burst study (docs/internals/scheduling.md). Times are in units of the switching cost.
constexpr double kHorizon = 8;       // how far ahead expected arrivals count
constexpr double kUpcoming = 0.5;    // share of the upcoming work that counts
constexpr double kMarginIdle = 0.5;  // gain that a switch needs on an idle device
constexpr double kMarginDear = 0.5;  // additional gain where a switch takes as long as a job
constexpr double kMarginLoaded = 2;  // gain that a switch needs where the device leaves work behind
constexpr double kPatience = 4;      // how long a job waits beside an idle device

// The longer a switch is compared with a job, the more expected work counts against queued work.
struct Weights {
  explicit Weights(const RoleQuestion& question) {
    double job = std::max({question.from.service, question.to.service, 1e-9});
    double dearness = std::min(1.0, question.cost / job);
    horizon = kHorizon * dearness * question.cost;
    upcoming = kUpcoming * dearness;
    bool leaves_work = question.from.queued > 0;
    margin = question.cost * (leaves_work ? kMarginLoaded : kMarginIdle + kMarginDear * dearness);
  }
  double work(const RoleDemand& demand) const {
    return demand.queued + upcoming * demand.upcoming + horizon * demand.erlangs;
  }
  double horizon;   // seconds of expected arrivals that count
  double upcoming;  // share of the upcoming work that counts
  double margin;    // seconds that a switch must gain
};

// Seconds until this many devices have done the work. With none, a device must switch to it and back.
double drained(double work, std::size_t devices, double cost) {
  if (devices > 0) return work / static_cast<double>(devices);
  return work > 0 ? work + 2 * cost : 0;
}

}  // namespace

double patience(const RoleQuestion& question) {
  return kPatience * question.cost + question.to.service;
}

bool worth_switching(const RoleQuestion& question) {
  const auto& [from, to, cost, aging] = question;
  if (to.queued <= 0) return false;
  bool is_idle = from.queued <= 0;
  if (is_idle && (to.devices == 0 || to.max_wait >= patience(question))) return true;
  // A role without devices must not wait until the backlog of the other is gone.
  if (to.devices == 0 && to.max_wait >= std::min(aging, patience(question))) return true;
  if (from.devices == 0) return false;
  // The last device of a role stays while work for it is coming: it would be needed at once.
  if (from.devices == 1 && from.upcoming > 0) return false;

  Weights weights(question);
  double here = weights.work(from);
  double there = weights.work(to);
  double before = std::max(drained(here, from.devices, cost), drained(there, to.devices, cost));
  double after =
      std::max(drained(here, from.devices - 1, cost), drained(there + cost, to.devices + 1, cost));
  return after + weights.margin < before;
}

}  // namespace specgen
