#include "generate/openai/endpoint_gate.h"

#include <gtest/gtest.h>

#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Breaker = EndpointGate::Breaker;

constexpr auto kFar = 1h;

struct Gate {
  explicit Gate(GateOptions options = {}) : gate(runtime.loop, options) {}
  Result<EndpointGate::Pass> enter(Duration patience = kFar) {
    return runtime.loop.run(gate.enter(runtime.loop.now() + patience));
  }
  void fail_times(int times) {
    for (int i = 0; i < times; ++i) enter()->failed();
  }
  Time now() { return runtime.loop.now(); }
  void wait(Duration time) { runtime.loop.run(nap(runtime.loop, time)); }

  VirtualRuntime runtime;
  EndpointGate gate;
};

TEST(EndpointGate, admits_at_most_max_concurrent) {
  Gate gate({.max_concurrent = 2});
  auto first = gate.enter();
  auto second = gate.enter();
  auto third = gate.enter(1s);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::model_overloaded);
  EXPECT_EQ(gate.now(), at(1s));
  {
    auto gone = std::move(*first);
  }
  EXPECT_TRUE(gate.enter(1s));
}

TEST(EndpointGate, waits_as_a_429_requests_and_then_keeps_an_interval) {
  Gate gate;
  gate.enter()->throttled(3s);
  Time before = gate.now();
  auto next = gate.enter();
  EXPECT_EQ(gate.now() - before, 3s);
  auto after = gate.enter();
  EXPECT_EQ(gate.now() - before, 3s + gate.gate.interval()) << "one after the other, not at once";
}

TEST(EndpointGate, doubles_the_interval_on_429_and_shrinks_it_on_success) {
  Gate gate;
  gate.enter()->throttled(std::nullopt);
  Duration once = gate.gate.interval();
  gate.enter()->throttled(std::nullopt);
  EXPECT_EQ(gate.gate.interval(), 2 * once);
  for (int i = 0; i < 100; ++i) gate.enter()->throttled(std::nullopt);
  EXPECT_EQ(gate.gate.interval(), GateOptions{}.max_interval);
  for (int i = 0; i < 200; ++i) gate.enter()->succeeded();
  EXPECT_EQ(gate.gate.interval(), Duration::zero());
}

TEST(EndpointGate, a_wait_beyond_the_deadline_is_refused_at_once) {
  Gate gate;
  gate.enter()->throttled(10min);
  Time before = gate.now();
  auto late = gate.enter(1min);
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().context.contains("slow down")) << late.error().text();
  EXPECT_EQ(gate.now(), before);
}

TEST(EndpointGate, opens_only_after_consecutive_failures) {
  Gate gate({.failures_to_open = 3});
  gate.fail_times(2);
  gate.enter()->succeeded();
  gate.fail_times(2);
  EXPECT_EQ(gate.gate.breaker(), Breaker::closed);
  gate.fail_times(1);
  EXPECT_EQ(gate.gate.breaker(), Breaker::open);
}

TEST(EndpointGate, an_open_breaker_refuses_calls_that_cannot_wait) {
  Gate gate({.failures_to_open = 1, .first_pause = 5s});
  gate.fail_times(1);
  auto refused = gate.enter(1s);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().context.contains("5.00 s")) << refused.error().text();
  EXPECT_TRUE(gate.enter(10s)) << "a call that can wait is admitted for the trial";
  EXPECT_EQ(gate.now(), at(5s));
}

TEST(EndpointGate, half_open_admits_one_trial_and_closes_on_success) {
  Gate gate({.failures_to_open = 1, .first_pause = 5s});
  gate.fail_times(1);
  gate.wait(6s);
  EXPECT_EQ(gate.gate.breaker(), Breaker::half_open);
  auto trial = gate.enter();
  EXPECT_FALSE(gate.enter(1s)) << "others wait for its result";
  trial->succeeded();
  EXPECT_EQ(gate.gate.breaker(), Breaker::closed);
  EXPECT_TRUE(gate.enter(1s));
}

TEST(EndpointGate, a_failed_trial_doubles_the_pause) {
  Gate gate({.failures_to_open = 1, .first_pause = 5s});
  gate.fail_times(1);
  gate.wait(6s);
  gate.enter()->failed();
  EXPECT_EQ(gate.gate.breaker(), Breaker::open);
  gate.wait(6s);
  EXPECT_EQ(gate.gate.breaker(), Breaker::open);
  gate.wait(5s);
  EXPECT_EQ(gate.gate.breaker(), Breaker::half_open);
}

TEST(EndpointGate, a_cancelled_trial_leaves_its_turn_to_another_call) {
  Gate gate({.failures_to_open = 1, .first_pause = 5s});
  gate.fail_times(1);
  gate.wait(6s);
  {
    auto trial = gate.enter();
  }
  EXPECT_EQ(gate.gate.breaker(), Breaker::half_open);
  EXPECT_TRUE(gate.enter(1s));
}

}  // namespace
}  // namespace specgen
