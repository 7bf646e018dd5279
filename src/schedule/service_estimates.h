#pragma once
// What the scheduler learns while it works: how often jobs of a stage come, how long they take, and so how much
// load they are. Everything fades with time: what was seen `memory` ago counts 1/e of what is seen now.

#include <array>

#include "base/units.h"
#include "schedule/job.h"

namespace specgen {

// A sum whose parts fade.
class FadingSum {
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
  double service_seconds(Stage stage) const;  // one second until the first was seen
  double erlangs(Stage stage, Time now) const {
    return arrivals_per_second(stage, now) * service_seconds(stage);
  }

 private:
  struct OfStage {
    FadingSum arrivals;
    double service = 0;  // a mean in which the latest count most
    double seen = 0;
  };
  Duration memory_;
  std::array<OfStage, kStages> stages_;
};

}  // namespace specgen
