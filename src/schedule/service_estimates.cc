#include "schedule/service_estimates.h"

#include <algorithm>
#include <cmath>

namespace specgen {
namespace {

// Jobs averaged: enough for a steady mean, few enough to follow a task that changes.
constexpr double kServicesAveraged = 50;

double decay(Duration since, Duration memory) {
  return std::exp(-seconds(since) / std::max(1e-9, seconds(memory)));
}

}  // namespace

void DecayingSum::add(double amount, Time now, Duration memory) {
  sum_ = at(now, memory) + amount;
  updated_ = std::max(updated_, now);
}

double DecayingSum::at(Time now, Duration memory) const {
  return now > updated_ ? sum_ * decay(now - updated_, memory) : sum_;
}

void ServiceEstimates::arrived(Stage stage, Time now) {
  stages_[static_cast<std::size_t>(stage)].arrivals.add(1, now, memory_);
}

void ServiceEstimates::served(Stage stage, Duration service) {
  OfStage& of = stages_[static_cast<std::size_t>(stage)];
  of.seen = std::min(of.seen + 1, kServicesAveraged);
  of.service += (seconds(service) - of.service) / of.seen;
}

double ServiceEstimates::arrivals_per_second(Stage stage, Time now) const {
  const OfStage& of = stages_[static_cast<std::size_t>(stage)];
  return of.arrivals.at(now, memory_) / std::max(1e-9, seconds(memory_));
}

double ServiceEstimates::service_seconds(Stage stage) const {
  const OfStage& of = stages_[static_cast<std::size_t>(stage)];
  return of.seen > 0 ? of.service : 1.0;
}

}  // namespace specgen
