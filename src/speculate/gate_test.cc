#include "speculate/gate.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Trigger trigger(double weight = 0.8) {
  return {.weight = weight};
}

GateView view_at(std::int64_t tokens) {
  return {.tokens = tokens, .new_bytes = 4096, .fork_cost = 1000};
}

TEST(Gate, lets_a_good_trigger_through) {
  Gate gate{GateSettings{}};
  EXPECT_EQ(gate.ask(trigger(), view_at(300)), std::nullopt);
  EXPECT_EQ(gate.allowed(), 1U);
}

TEST(Gate, refuses_a_trigger_in_the_first_tokens) {
  Gate gate{GateSettings{}};
  EXPECT_EQ(gate.ask(trigger(), view_at(255)), Refusal::too_early);
}

TEST(Gate, forks_and_harvests_keep_their_distance) {
  Gate gate{GateSettings{}};
  gate.forked(300);
  EXPECT_EQ(gate.ask(trigger(), view_at(811)), Refusal::too_close);
  EXPECT_EQ(gate.ask(trigger(), view_at(812)), std::nullopt);
  gate.harvested(900);
  EXPECT_EQ(gate.ask(trigger(), view_at(1411)), Refusal::too_close);
  EXPECT_EQ(gate.ask(trigger(), view_at(1412)), std::nullopt);
  gate.begin_iteration();
  EXPECT_EQ(gate.ask(trigger(), view_at(300)), std::nullopt);
}

TEST(Gate, limits_forks_in_flight_and_per_iteration) {
  Gate gate{GateSettings{}};
  GateView view = view_at(2000);
  view.forks_in_flight = 2;
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::too_many_in_flight);
  view.forks_in_flight = 1;
  view.forks_this_iteration = GateSettings{}.max_per_iteration;
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::too_many_this_iteration);
}

TEST(Gate, requires_new_reasoning_since_the_last_fork) {
  Gate gate{GateSettings{}};
  GateView view = view_at(2000);
  view.new_bytes = 10;
  EXPECT_EQ(gate.ask(trigger(), view), std::nullopt);
  gate.forked(1000);
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::nothing_new);
}

TEST(Gate, requires_weight) {
  Gate gate{GateSettings{}};
  EXPECT_EQ(gate.ask(trigger(0.19), view_at(2000)), Refusal::weak_trigger);
}

TEST(Gate, keeps_within_the_budget) {
  Gate gate{GateSettings{}};
  GateView view = view_at(2000);
  view.tokens_left = 999;
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::budget);
  view.tokens_left = 1000;
  EXPECT_EQ(gate.ask(trigger(), view), std::nullopt);
}

TEST(Gate, forks_cost_at_most_their_share) {
  GateSettings settings;
  settings.free_tokens = 0;
  Gate gate{settings};
  EXPECT_EQ(gate.ask(trigger(), view_at(1999)), Refusal::budget);
  EXPECT_EQ(gate.ask(trigger(), view_at(2000)), std::nullopt);
  gate.add_tokens(10'000, 4'000);
  EXPECT_EQ(gate.ask(trigger(), view_at(300)), std::nullopt);
  gate.add_tokens(0, 200);
  EXPECT_EQ(gate.ask(trigger(), view_at(300)), Refusal::budget);
  GateView with_another = view_at(2399);
  with_another.forks_in_flight = 1;
  EXPECT_EQ(gate.ask(trigger(), with_another), Refusal::budget);
  EXPECT_EQ(gate.ask(trigger(), view_at(2399)), std::nullopt);
}

TEST(Gate, the_share_is_checked_only_above_the_free_tokens) {
  Gate gate{GateSettings{}};
  GateView view = view_at(300);
  view.fork_cost = 8192;
  EXPECT_EQ(gate.ask(trigger(), view), std::nullopt);
  view.fork_cost = 8193;
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::budget);
}

TEST(Gate, requires_capacity_in_the_pool) {
  Gate gate{GateSettings{}};
  GateView view = view_at(2000);
  view.load.devices = 2;
  view.load.expected_wait = std::chrono::minutes(3);
  EXPECT_EQ(gate.ask(trigger(), view), Refusal::pool_is_full);
  view.load.expected_wait = std::chrono::seconds(5);
  EXPECT_EQ(gate.ask(trigger(0.5), view), std::nullopt);  // busy, but it is worth it
  EXPECT_EQ(gate.ask(trigger(0.4), view), Refusal::pool_is_full);
  view.load.idle_devices = 1;
  EXPECT_EQ(gate.ask(trigger(0.4), view), std::nullopt);
}

TEST(Gate, yield_starts_high_and_follows_the_results) {
  Gate gate{GateSettings{}};
  EXPECT_EQ(gate.yield(), 1);
  gate.add_fork_result(false, false);
  EXPECT_LT(gate.yield(), 1);
  for (int i = 0; i < 100; ++i) gate.add_fork_result(false, false);
  EXPECT_LT(gate.yield(), 0.08);
  for (int i = 0; i < 30; ++i) gate.add_fork_result(true, true);
  EXPECT_GT(gate.yield(), 0.5);
}

TEST(Gate, an_ok_fork_that_is_not_good_counts_half) {
  Gate ok{GateSettings{}}, good{GateSettings{}};
  for (int i = 0; i < 1000; ++i) {
    ok.add_fork_result(true, false);
    good.add_fork_result(true, true);
  }
  EXPECT_NEAR(ok.yield(), 0.53, 0.01);
  EXPECT_NEAR(good.yield(), 1, 0.001);
}

// Forks that never pay must cost next to nothing; but a few are still tried, since that may change.
TEST(Gate, forks_that_never_pay_become_rare) {
  Gate gate{GateSettings{}};
  int forks = 0;
  for (int i = 0; i < 1000; ++i) {
    if (gate.ask(trigger(0.9), view_at(2000))) continue;
    ++forks;
    gate.add_fork_result(false, false);
  }
  EXPECT_LE(forks, 8 + 1000 / 20);
  EXPECT_GE(forks, 8 + 1000 / 20 - 2);
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::poor_yield)],
            static_cast<std::uint64_t>(1000 - forks));
}

TEST(Gate, forks_that_pay_again_are_made_again) {
  Gate gate{GateSettings{}};
  for (int i = 0; i < 20; ++i) gate.add_fork_result(false, false);
  EXPECT_EQ(gate.ask(trigger(), view_at(2000)), Refusal::poor_yield);
  for (int i = 0; i < 10; ++i) gate.add_fork_result(true, true);
  EXPECT_EQ(gate.ask(trigger(), view_at(2000)), std::nullopt);
}

TEST(Gate, a_few_failures_are_forgiven) {
  Gate gate{GateSettings{}};
  for (int i = 0; i < 7; ++i) gate.add_fork_result(false, false);
  EXPECT_EQ(gate.ask(trigger(0.2), view_at(2000)), std::nullopt);
  gate.add_fork_result(false, false);
  EXPECT_EQ(gate.ask(trigger(0.2), view_at(2000)), Refusal::poor_yield);
}

TEST(Gate, every_refusal_is_counted_by_its_reason) {
  Gate gate{GateSettings{}};
  gate.ask(trigger(), view_at(1));
  gate.ask(trigger(), view_at(2));
  gate.ask(trigger(0), view_at(2000));
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::too_early)], 2U);
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::weak_trigger)], 1U);
  EXPECT_EQ(gate.allowed(), 0U);
  EXPECT_EQ(to_string(Refusal::too_early), "too_early");
  EXPECT_EQ(to_string(Refusal::pool_is_full), "pool_is_full");
}

PoolLoad load_of(std::size_t devices, std::size_t idle, std::size_t waiting) {
  PoolLoad load;
  load.devices = devices;
  load.idle_devices = idle;
  load.queued[1] = waiting;
  return load;
}

TEST(GateForDrafts, has_capacity_while_devices_are_idle) {
  Gate gate({.max_waiting = 0.3});
  EXPECT_TRUE(gate.has_capacity({})) << "nothing is known about devices";
  EXPECT_TRUE(gate.has_capacity(load_of(10, 6, 5)));
}

TEST(GateForDrafts, has_no_capacity_while_enough_wait) {
  Gate gate({.max_waiting = 0.3});
  EXPECT_TRUE(gate.has_capacity(load_of(10, 0, 2)));
  EXPECT_FALSE(gate.has_capacity(load_of(10, 0, 3)));
  EXPECT_TRUE(gate.has_capacity(load_of(1, 0, 0))) << "one may wait";
  EXPECT_FALSE(gate.has_capacity(load_of(1, 0, 1)));
}

}  // namespace
}  // namespace specgen
