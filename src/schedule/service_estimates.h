#pragma once
// Running estimates per stage: how often jobs arrive, how long they take, and the load that follows. Arrivals are
// weighted by age: one that is `memory` old counts 1/e of a new one.

#include <array>

#include "base/units.h"
#include "schedule/job.h"

namespace specgen {

// An exponentially decaying sum.
class DecayingSum {
 public:
  void add(double amount, Time now, Duration memory);
  double at(Time now, Duration memory) const;

 private:
  double sum_ = 0;
  Time updated_{};
};

class ServiceEstimates {
 public:
  explicit ServiceEstimates(Duration memory) : memory_(memory) {}

  void arrived(Stage stage, Time now);
  void served(Stage stage, Duration service);

  double arrivals_per_second(Stage stage, Time now) const;
  double service_seconds(Stage stage) const;  // one second until the first job has ended
  double erlangs(Stage stage, Time now) const {
    return arrivals_per_second(stage, now) * service_seconds(stage);
  }

 private:
  struct OfStage {
    DecayingSum arrivals;
    double service = 0;  // running mean; recent jobs count most
    double seen = 0;
  };
  Duration memory_;
  std::array<OfStage, kStages> stages_;
};

}  // namespace specgen
