#include "schedule/service_estimates.h"

#include <gtest/gtest.h>

#include <cmath>

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(ServiceEstimates, estimates_the_rate_of_steady_arrivals) {
  ServiceEstimates estimates(60s);
  Time now{};
  for (int i = 0; i < 1'000; ++i) estimates.arrived(Stage::validate, now += 500ms);
  EXPECT_NEAR(estimates.arrivals_per_second(Stage::validate, now), 2, 0.05);
  EXPECT_EQ(estimates.arrivals_per_second(Stage::profile, now), 0);
}

TEST(ServiceEstimates, an_arrival_one_memory_ago_counts_a_third) {
  ServiceEstimates estimates(60s);
  estimates.arrived(Stage::profile, Time(0s));
  double fresh = estimates.arrivals_per_second(Stage::profile, Time(0s));
  EXPECT_NEAR(estimates.arrivals_per_second(Stage::profile, Time(60s)), fresh / std::exp(1), 1e-9);
}

TEST(ServiceEstimates, service_is_a_mean_that_follows_change) {
  ServiceEstimates estimates(60s);
  EXPECT_EQ(estimates.service_seconds(Stage::profile), 1);
  estimates.served(Stage::profile, 4s);
  EXPECT_DOUBLE_EQ(estimates.service_seconds(Stage::profile), 4);
  estimates.served(Stage::profile, 8s);
  EXPECT_DOUBLE_EQ(estimates.service_seconds(Stage::profile), 6);
  for (int i = 0; i < 500; ++i) estimates.served(Stage::profile, 20s);
  EXPECT_NEAR(estimates.service_seconds(Stage::profile), 20, 0.01);
}

}  // namespace
}  // namespace specgen
