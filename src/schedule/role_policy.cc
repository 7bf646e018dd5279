#include "schedule/role_policy.h"

#include <algorithm>

namespace specgen {
namespace {

// Found by the burst study (docs/internals/scheduling.md says how far it carries).
constexpr double kHorizon = 8;       // switches' length of arrivals that are taken into account
constexpr double kUpcoming = 0.5;    // share of the work on its way that is taken into account
constexpr double kMarginIdle = 0.5;  // of a switch, that a change must gain, on an idle device
constexpr double kMarginDear = 0.5;  // and so much more where a switch is as long as a job
constexpr double kMarginLoaded = 2;  // or where the device leaves work behind
constexpr double kPatience = 4;      // switches' length that a job waits beside an idle device

// The longer a switch is against a job, the more counts what will come, and the less what waits by chance.
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
  double horizon;   // seconds of arrivals that are taken into account
  double upcoming;  // share of the work that is on its way
  double margin;    // seconds by which it must be better
};

// Seconds until the work is done by so many devices. With none it waits until one has switched to it, and back.
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
  // A role that nobody has must not wait until the other's backlog is gone.
  if (to.devices == 0 && to.max_wait >= std::min(aging, patience(question))) return true;
  if (from.devices == 0) return false;
  // The last one stays while work for it is on its way: it would be missed at once.
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
