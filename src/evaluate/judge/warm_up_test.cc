#include "evaluate/judge/warm_up.h"

#include <gtest/gtest.h>

#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

class FakePool final : public ReadyPool {
 public:
  std::size_t capacity() const override { return 8; }
  std::size_t size() const override { return rigs; }
  bool can_start_while_compiling() const override { return is_cheap; }
  Result<void> replenish(std::size_t min, std::size_t target) override {
    if (rigs < min) rigs = target;
    return {};
  }
  bool prepare_memory() override { return memory_steps > 0 && memory_steps-- > 0; }
  Task<Result<void>> settle() override {
    is_settled = true;
    co_return Result<void>();
  }

  std::size_t rigs = 0;
  int memory_steps = 0;
  bool is_cheap = false;
  bool is_settled = false;
};

struct WarmUpFixture : testing::Test {
  void lock() { ASSERT_TRUE(runtime.loop.run(lease.lock())); }
  void judge_candidates(int count) {
    for (int i = 0; i < count; ++i) warm_up.count_candidate();
  }

  RealRuntime runtime;
  FakePool pool;
  DeviceLease lease{runtime.loop, {"warm-up-test"}, {.lock_wait = std::chrono::seconds(10)}};
  WarmUp warm_up{runtime.loop, pool, lease};
};

TEST_F(WarmUpFixture, rigs_that_disturb_others_are_started_only_while_the_device_is_locked) {
  warm_up.before("validate");
  runtime.loop.run(warm_up.while_compiling());
  EXPECT_EQ(pool.rigs, 0U);
  lock();
  runtime.loop.run(warm_up.while_compiling());
  EXPECT_EQ(pool.rigs, kRigsPerCandidate);
}

TEST_F(WarmUpFixture, cheap_rigs_are_started_during_any_compilation) {
  pool.is_cheap = true;
  pool.memory_steps = 3;
  runtime.loop.run(warm_up.while_compiling());
  EXPECT_EQ(pool.rigs, pool.capacity());
  EXPECT_EQ(pool.memory_steps, 0);
}

TEST_F(WarmUpFixture, one_candidate_may_be_the_only_one_and_gets_no_more_than_it_needs) {
  lock();
  judge_candidates(1);
  runtime.loop.run(warm_up.while_idle([] { return false; }));
  EXPECT_EQ(pool.rigs, kRigsPerCandidate);
  judge_candidates(1);
  runtime.loop.run(warm_up.while_idle([] { return false; }));
  EXPECT_EQ(pool.rigs, pool.capacity());
  EXPECT_TRUE(pool.is_settled);
}

TEST_F(WarmUpFixture, a_job_that_begins_with_a_compilation_starts_nothing_before_it) {
  lock();
  for (const char* job : {"compile", "evaluate"}) warm_up.before(job);
  EXPECT_EQ(pool.rigs, 0U);
}

TEST_F(WarmUpFixture, a_waiting_job_that_has_enough_rigs_waits_for_no_others) {
  lock();
  pool.rigs = 1;
  warm_up.before("profile");
  EXPECT_EQ(pool.rigs, 1U);
  warm_up.before("validate");
  EXPECT_EQ(pool.rigs, kRigsPerCandidate);
}

TEST_F(WarmUpFixture, a_request_ends_the_preparation_of_memory) {
  lock();
  pool.memory_steps = 100;
  int asked = 0;
  runtime.loop.run(warm_up.while_idle([&] { return ++asked > 10; }));
  EXPECT_EQ(pool.memory_steps, 90);
}

}  // namespace
}  // namespace specgen
