// Candidates when executors, devices and hosts fail.

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/race.h"
#include "runtime/testing.h"
#include "schedule/evaluation_pool.h"
#include "schedule/scripted_host.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Candidate fake_candidate(CandidateId id, std::string source) {
  return {.id = id,
          .task = "tasks/softmax",
          .backend = "cpu",
          .source = std::move(source),
          .iteration = IterationId{1}};
}

struct FaultyFixture : VirtualRuntime {
  explicit FaultyFixture(PoolSettings settings = {}, std::vector<std::string> devices = {"cpu:0"},
                         bool host_shares_memory = false)
      : host(loop, "h", std::move(devices)), pool(loop, {&host}, settings) {
    host.shares_memory = host_shares_memory;
    pool.on_event = [this](const PoolEvent& event) {
      if (auto* changed = std::get_if<DeviceChanged>(&event)) conditions.push_back(*changed);
      if (auto* ended = std::get_if<StageEnded>(&event); ended && !ended->useful) ++lost_stages;
      if (std::get_if<CandidateEnded>(&event)) ++ended_candidates;
    };
    SG_ASSERT(loop.run(pool.open()), "the pool opens");
  }

  Candidate candidate(std::string source) { return fake_candidate(ids.next(), std::move(source)); }
  Result<Judged> evaluate(std::string source) {
    return loop.run(pool.evaluate(candidate(std::move(source))));
  }
  std::ptrdiff_t times(DeviceCondition condition) const {
    return std::ranges::count(conditions, condition, &DeviceChanged::condition);
  }

  IdSource<CandidateId> ids;
  ScriptedHost host;
  EvaluationPool pool;
  std::vector<DeviceChanged> conditions;
  int lost_stages = 0;
  int ended_candidates = 0;
};

Task<void> collect(EvaluationPool& pool, Candidate candidate, std::vector<Result<Judged>>& into) {
  into.push_back(co_await pool.evaluate(std::move(candidate)));
}

TEST(PoolDevices, a_candidate_that_kills_executors_is_abandoned_and_the_devices_recover) {
  FaultyFixture fixture({.max_attempts = 3}, {"cpu:0", "cpu:1"});
  auto judged = fixture.evaluate("poison");
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->verdict, Verdict::harness_error);
  EXPECT_EQ(fixture.lost_stages, 3);
  EXPECT_EQ(fixture.pool.counters().fenced, 3u);
  EXPECT_EQ(fixture.pool.counters().wasted, 6s);
  EXPECT_EQ(fixture.pool.counters().useful, 0s);
  EXPECT_EQ(fixture.evaluate("good")->verdict, Verdict::ok);
  fixture.loop.run(nap(fixture.loop, 60s));
  EXPECT_EQ(fixture.times(DeviceCondition::ready), 3);
  EXPECT_EQ(fixture.times(DeviceCondition::quarantined), 0);
  EXPECT_EQ(fixture.ended_candidates, 2);
}

TEST(PoolDevices, a_hanging_job_is_cancelled_and_repeated_elsewhere) {
  FaultyFixture fixture({.max_attempts = 2, .device_limit = 30s}, {"cpu:0", "cpu:1"});
  auto judged = fixture.evaluate("hang");
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->verdict, Verdict::harness_error);
  EXPECT_EQ(fixture.host.count("validate cpu:0") + fixture.host.count("validate cpu:1"), 2u);
  EXPECT_EQ(fixture.host.count("validate cpu:0"), 1u);
  EXPECT_EQ(fixture.host.max_at_once, 1);
}

TEST(PoolDevices, a_device_that_fails_two_canaries_is_quarantined_and_the_others_work) {
  FaultyFixture fixture({.offer_after = 1h}, {"cpu:0", "cpu:1"}, true);
  fixture.host.broken.insert("cpu:1");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(fixture.evaluate("kernel " + std::to_string(i))->verdict, Verdict::ok);
  }
  fixture.loop.run(nap(fixture.loop, 60s));
  EXPECT_EQ(fixture.times(DeviceCondition::quarantined), 1);
  EXPECT_EQ(fixture.pool.counters().quarantined, 1u);
  EXPECT_EQ(fixture.pool.load().devices, 1u);
  EXPECT_EQ(fixture.host.count("prepare cpu:1"), 2u);
  EXPECT_EQ(fixture.host.count("lend cpu:1"), 1u);  // only the cache uses its memory from now on
}

TEST(PoolDevices, every_upcoming_task_is_prepared_somewhere_and_its_jobs_go_there_first) {
  FaultyFixture fixture({}, {"cpu:0", "cpu:1", "cuda:0"});
  fixture.pool.prepare({{"tasks/gelu", "cpu"}, {"tasks/softmax", "cpu"}, {"tasks/conv2d", "cpu"}});
  fixture.loop.run(nap(fixture.loop, 1min));
  EXPECT_EQ(fixture.host.count("prepare cpu:0"), 2u);
  EXPECT_EQ(fixture.host.count("prepare cpu:1"), 1u);
  EXPECT_EQ(fixture.host.count("prepare cuda:0"), 0u);
  EXPECT_EQ(fixture.evaluate("kernel")->verdict, Verdict::ok);
  EXPECT_EQ(fixture.host.count("validate cpu:1"), 1u);
}

TEST(PoolDevices, a_device_is_offered_again_after_preparing) {
  FaultyFixture fixture({.offer_after = 1s}, {"cpu:0"}, true);
  fixture.pool.prepare({{"tasks/gelu", "cpu"}, {"tasks/softmax", "cpu"}});
  // 2 s each: offered after the first second, then taken back.
  fixture.loop.run(nap(fixture.loop, 1min));
  EXPECT_EQ(fixture.host.count("lend cpu:0"), 2u);
  EXPECT_TRUE(fixture.host.log.back().starts_with("lend cpu:0"));
}

TEST(PoolDevices, a_failing_device_prepares_no_further_task) {
  FaultyFixture fixture;
  fixture.host.broken.insert("cpu:0");
  fixture.pool.prepare({{"tasks/gelu", "cpu"}, {"tasks/softmax", "cpu"}});
  fixture.loop.run(nap(fixture.loop, 1min));
  EXPECT_EQ(fixture.host.count("prepare cpu:0"), 1u);
  EXPECT_EQ(fixture.times(DeviceCondition::fenced), 0);
}

TEST(PoolDevices, preparing_stops_when_a_candidate_arrives) {
  FaultyFixture fixture;
  fixture.pool.prepare({{"tasks/gelu", "cpu"}, {"tasks/softmax", "cpu"}, {"tasks/conv2d", "cpu"}});
  // Compiled in 1 s; each task is prepared in 2 s.
  EXPECT_EQ(fixture.evaluate("kernel")->verdict, Verdict::ok);
  fixture.loop.run(nap(fixture.loop, 1min));
  EXPECT_EQ(fixture.host.count("prepare cpu:0"), 1u);
}

TEST(PoolDevices, losing_the_last_device_fails_all_waiters) {
  FaultyFixture fixture;
  fixture.host.broken.insert("cpu:0");
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  for (int i = 0; i < 3; ++i) {
    group.spawn(collect(fixture.pool, fixture.candidate("kernel " + std::to_string(i)), judged));
  }
  ASSERT_TRUE(fixture.loop.run(group.join()));
  ASSERT_EQ(judged.size(), 3u);
  for (const auto& each : judged) {
    ASSERT_FALSE(each);
    EXPECT_EQ(each.error().code, ErrorCode::device_missing);
  }
  EXPECT_FALSE(fixture.evaluate("late"));
  EXPECT_EQ(fixture.ended_candidates, 3);
}

TEST(PoolDevices, an_error_of_the_task_reaches_all_waiters_and_fences_no_device) {
  FaultyFixture fixture;
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("bad_task"), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("bad_task"), judged));
  ASSERT_TRUE(fixture.loop.run(group.join()));
  for (const auto& each : judged) {
    ASSERT_FALSE(each);
    EXPECT_EQ(each.error().code, ErrorCode::bad_task);
  }
  EXPECT_TRUE(fixture.conditions.empty());
}

TEST(PoolDevices, a_lost_host_is_reconnected_and_no_candidate_is_lost) {
  FaultyFixture fixture({}, {"cpu:0", "cpu:1"});
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  for (int i = 0; i < 3; ++i) {
    group.spawn(collect(fixture.pool, fixture.candidate("kernel " + std::to_string(i)), judged));
  }
  fixture.loop.run(nap(fixture.loop, 2s));  // some compile, some validate
  fixture.host.is_reachable = false;
  fixture.host.hang_up();
  fixture.loop.run(nap(fixture.loop, 5min));
  EXPECT_TRUE(judged.empty());
  EXPECT_EQ(fixture.pool.load().devices, 0u);
  fixture.host.is_reachable = true;
  ASSERT_TRUE(fixture.loop.run(group.join()));
  ASSERT_EQ(judged.size(), 3u);
  for (const auto& each : judged) EXPECT_EQ(each->verdict, Verdict::ok);
  EXPECT_EQ(fixture.pool.load().devices, 2u);
  EXPECT_EQ(fixture.times(DeviceCondition::quarantined), 0);
  EXPECT_EQ(fixture.host.max_at_once, 1);
}

TEST(PoolDevices, idle_devices_of_a_lost_host_are_lost) {
  FaultyFixture fixture({}, {"cpu:0", "cpu:1"});
  TaskGroup group(fixture.loop);
  std::vector<Result<Judged>> judged;
  group.spawn(collect(fixture.pool, fixture.candidate("good"), judged));
  fixture.loop.run(nap(fixture.loop, 2s));
  fixture.host.is_reachable = false;
  fixture.host.hang_up();
  fixture.loop.run(nap(fixture.loop, 1s));
  EXPECT_GE(fixture.times(DeviceCondition::lost), 1);
  fixture.host.is_reachable = true;
  ASSERT_TRUE(fixture.loop.run(group.join()));
  EXPECT_EQ(judged.front()->verdict, Verdict::ok);
  fixture.loop.run(nap(fixture.loop, 60s));
  EXPECT_EQ(fixture.pool.load().devices, 2u);
}

TEST(PoolDevices, a_host_that_stays_unreachable_is_abandoned_and_all_waiters_fail) {
  FaultyFixture fixture({.host_away_limit = 10min});
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("good"), judged));
  fixture.loop.run(nap(fixture.loop, 2s));
  fixture.host.is_reachable = false;
  fixture.host.hang_up();
  ASSERT_TRUE(fixture.loop.run(group.join()));
  ASSERT_FALSE(judged.front());
  EXPECT_EQ(judged.front().error().code, ErrorCode::device_missing);
}

TEST(PoolDevices, another_host_continues_when_one_is_lost) {
  VirtualRuntime fixture;
  ScriptedHost first(fixture.loop, "first", {"cpu:0"});
  ScriptedHost second(fixture.loop, "second", {"cpu:0"});
  EvaluationPool pool(fixture.loop, {&first, &second}, {});
  ASSERT_TRUE(fixture.loop.run(pool.open()));
  EXPECT_EQ(pool.load().devices, 2u);
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  for (std::uint64_t i = 1; i <= 6; ++i) {
    group.spawn(collect(pool, fake_candidate(CandidateId{i}, "k" + std::to_string(i)), judged));
  }
  fixture.loop.run(nap(fixture.loop, 2s));
  first.is_reachable = false;
  first.hang_up();
  ASSERT_TRUE(fixture.loop.run(group.join()));
  ASSERT_EQ(judged.size(), 6u);
  for (const auto& each : judged) EXPECT_EQ(each->verdict, Verdict::ok);
  EXPECT_EQ(second.count("profile") + first.count("profile"), 6u);
}

TEST(PoolDevices, destroying_a_pool_cancels_everything) {
  VirtualRuntime fixture;
  ScriptedHost host(fixture.loop, "h", {"cpu:0"});
  std::vector<Result<Judged>> judged;
  {
    EvaluationPool pool(fixture.loop, {&host}, {});
    ASSERT_TRUE(fixture.loop.run(pool.open()));
    TaskGroup group(fixture.loop);
    group.spawn(collect(pool, fake_candidate(CandidateId{1}, "poison"), judged));
    fixture.loop.run(nap(fixture.loop, 3500ms));  // fenced, its canary is running
  }
  fixture.loop.run(nap(fixture.loop, 60s));
  EXPECT_TRUE(judged.empty());
}

}  // namespace
}  // namespace specgen
