#include "schedule/evaluation_pool.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "runtime/race.h"
#include "runtime/testing.h"
#include "schedule/scripted_host.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::string describe(const PoolEvent& event) {
  if (auto* queued = std::get_if<StageQueued>(&event)) {
    return to_string(queued->candidate) + " queued for " + std::string(to_string(queued->stage));
  }
  if (auto* started = std::get_if<StageStarted>(&event)) {
    return to_string(started->candidate) + " " + std::string(to_string(started->stage)) + " on " +
           to_string(started->device);
  }
  if (auto* ended = std::get_if<StageEnded>(&event)) {
    return to_string(ended->candidate) + (ended->useful ? " ended " : " lost ") +
           std::string(to_string(ended->stage));
  }
  if (auto* over = std::get_if<CandidateEnded>(&event)) {
    return to_string(over->candidate) + " is " +
           (over->withdrawn ? "withdrawn" : std::string(to_string(over->verdict)));
  }
  if (auto* changed = std::get_if<DeviceChanged>(&event)) {
    constexpr std::array names{"ready", "fenced", "quarantined", "lost"};
    return to_string(changed->device) + " " + names[static_cast<std::size_t>(changed->condition)];
  }
  auto& role = std::get<RoleChanged>(event);
  return to_string(role.device) + " becomes " + std::string(to_string(role.role));
}

struct PoolFixture : VirtualRuntime {
  explicit PoolFixture(PoolSettings settings = {}, std::vector<std::string> devices = {"cpu:0"})
      : host(loop, "h", std::move(devices)), pool(loop, {&host}, settings) {
    pool.on_event = [this](const PoolEvent& event) { log.push_back(describe(event)); };
  }

  Candidate candidate(std::string source, Origin origin = Origin::main,
                      IterationId iteration = IterationId{1}) {
    return {.id = ids.next(),
            .task = "tasks/softmax",
            .backend = "cpu",
            .source = std::move(source),
            .origin = origin,
            .iteration = iteration};
  }
  void open() { ASSERT_TRUE(loop.run(pool.open())); }
  Result<Judged> evaluate(std::string source) {
    return loop.run(pool.evaluate(candidate(std::move(source))));
  }
  std::ptrdiff_t count(const std::string& line) const { return std::ranges::count(log, line); }

  IdSource<CandidateId> ids;
  ScriptedHost host;
  EvaluationPool pool;
  Log log;
};

Task<void> collect(EvaluationPool& pool, Candidate candidate, std::vector<Result<Judged>>& into) {
  into.push_back(co_await pool.evaluate(std::move(candidate)));
}

TEST(EvaluationPool, leads_a_candidate_through_all_stages) {
  PoolFixture fixture;
  fixture.open();
  auto judged = fixture.evaluate("good");
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->verdict, Verdict::ok);
  EXPECT_TRUE(judged->profiled);
  EXPECT_EQ(judged->speedup.median, 3);
  EXPECT_FALSE(judged->repeated);
  EXPECT_EQ(fixture.log,
            (Log{"c1 queued for compile", "c1 compile on d2", "c1 ended compile",
                 "c1 queued for validate", "c1 validate on d1", "c1 ended validate",
                 "c1 queued for profile", "c1 profile on d1", "c1 ended profile", "c1 is ok"}));
  EXPECT_EQ(fixture.pool.counters().useful, 6s);
  EXPECT_EQ(fixture.pool.device_time(), 7s);
  ASSERT_EQ(judged->spans.size(), 3u);
  EXPECT_EQ(judged->spans[2].device, "cpu:0");
  EXPECT_EQ(judged->spans[2].ended - judged->spans[2].started, 4s);
}

TEST(EvaluationPool, an_evaluation_has_all_keys_even_if_the_host_sends_few) {
  PoolFixture fixture;
  fixture.open();
  Json json = *parse_json(fixture.evaluate("wrong")->evaluation);
  EXPECT_EQ(json.at("schema"), "specgen.evaluation");
  EXPECT_EQ(json.at("verdict"), "wrong");
  EXPECT_EQ(json.at("device_name"), "model of h");
  for (const char* key :
       {"task", "device", "evidence", "speedup", "vendor_ratio", "peak_fraction", "cases",
        "tunables", "profile", "sandbox", "trust", "marks", "timings_ms", "feedback"}) {
    EXPECT_TRUE(json.get_object().contains(key)) << key;
  }
}

TEST(EvaluationPool, a_failed_stage_is_the_last_one) {
  PoolFixture fixture;
  fixture.open();
  auto judged = fixture.evaluate("wrong");
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->verdict, Verdict::wrong);
  EXPECT_FALSE(judged->profiled);
  EXPECT_EQ(fixture.host.count("profile"), 0u);
  EXPECT_NE(judged->feedback.find("wrong"), std::string::npos);
}

TEST(EvaluationPool, a_python_candidate_is_evaluated_in_one_stage) {
  PoolFixture fixture;
  fixture.open();
  Candidate python = fixture.candidate("class ModelNew: pass");
  python.model_new = true;
  auto judged = fixture.loop.run(fixture.pool.evaluate(python));
  ASSERT_TRUE(judged);
  EXPECT_TRUE(judged->profiled);
  EXPECT_EQ(judged->speedup.median, 4);
  EXPECT_EQ(parse_json(judged->evaluation)->at("trust"), "weaker");  // as the host sent it
  EXPECT_EQ(fixture.host.count("compile"), 0u);
}

TEST(EvaluationPool, equal_candidates_are_judged_once) {
  PoolFixture fixture;
  fixture.open();
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("int  good;"), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("int good; // again"), judged));
  ASSERT_TRUE(fixture.loop.run(group.join()));
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_FALSE(judged[0]->repeated);
  EXPECT_TRUE(judged[1]->repeated);
  auto third = fixture.evaluate("int good;");
  EXPECT_TRUE(third->repeated);
  EXPECT_EQ(third->speedup.median, 3);
  EXPECT_TRUE(third->spans.empty());
  EXPECT_EQ(fixture.host.count("compile"), 1u);
  EXPECT_EQ(fixture.pool.counters().repeated, 2u);
  for (std::string id : {"c1", "c2", "c3"}) EXPECT_EQ(fixture.count(id + " is ok"), 1) << id;
}

TEST(EvaluationPool, a_verdict_from_the_journal_is_not_judged_again) {
  PoolFixture fixture;
  fixture.open();
  Candidate known = fixture.candidate("good");
  fixture.pool.remember(known, {.verdict = Verdict::wrong});
  EXPECT_EQ(fixture.evaluate("good")->verdict, Verdict::wrong);
  known.shapes = {{"N", 7}};  // other shapes are evaluated separately
  EXPECT_EQ(fixture.loop.run(fixture.pool.evaluate(known))->verdict, Verdict::ok);
}

TEST(EvaluationPool, an_equal_main_candidate_raises_the_urgency_of_a_speculative_one) {
  PoolFixture fixture;
  fixture.open();
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("slow"), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("first guess", Origin::fork), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("second guess", Origin::fork), judged));
  fixture.loop.run(nap(fixture.loop, 10s));  // both are compiled and wait for the device
  group.spawn(collect(fixture.pool, fixture.candidate("second guess"), judged));
  ASSERT_TRUE(fixture.loop.run(group.join()));
  EXPECT_LT(std::ranges::find(fixture.log, "c3 validate on d1"),
            std::ranges::find(fixture.log, "c2 validate on d1"));
}

TEST(EvaluationPool, a_candidate_without_waiters_is_withdrawn_unless_it_is_running) {
  PoolFixture fixture;
  fixture.open();
  std::vector<Result<Judged>> judged;
  {
    TaskGroup group(fixture.loop);
    group.spawn(collect(fixture.pool, fixture.candidate("wrong slow"), judged));
    fixture.loop.run(nap(fixture.loop, 5s));  // it is being validated
    group.spawn(collect(fixture.pool, fixture.candidate("good"), judged));
    fixture.loop.run(nap(fixture.loop, 5s));  // it waits for the device
  }
  EXPECT_EQ(fixture.count("c2 is withdrawn"), 1);
  EXPECT_EQ(fixture.pool.load().queued, (std::array<std::size_t, kStages>{}));
  fixture.loop.run(nap(fixture.loop, 120s));
  EXPECT_EQ(fixture.count("c1 is withdrawn"), 1);
  EXPECT_EQ(fixture.host.count("validate cpu:0 good"), 0u);
  EXPECT_TRUE(
      fixture.evaluate("wrong slow")->repeated);  // the verdict of the running stage was remembered
}

TEST(EvaluationPool, speculation_of_an_ended_iteration_is_demoted) {
  PoolFixture fixture;
  fixture.open();
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("slow"), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("old guess", Origin::fork), judged));
  fixture.loop.run(nap(fixture.loop, 5s));
  fixture.pool.end_iteration(IterationId{1});
  group.spawn(collect(fixture.pool, fixture.candidate("new guess", Origin::harvest, IterationId{2}),
                      judged));
  ASSERT_TRUE(fixture.loop.run(group.join()));
  EXPECT_LT(std::ranges::find(fixture.log, "c3 is ok"),
            std::ranges::find(fixture.log, "c2 validate on d1"));
  EXPECT_EQ(fixture.count("c2 is ok"), 1);  // late, but judged
}

TEST(EvaluationPool, speculation_of_an_ended_iteration_is_withdrawn_if_so_configured) {
  PoolFixture fixture({.after_iteration = PoolSettings::AfterIteration::withdraw});
  fixture.open();
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  group.spawn(collect(fixture.pool, fixture.candidate("slow"), judged));
  group.spawn(collect(fixture.pool, fixture.candidate("guess", Origin::fork), judged));
  fixture.loop.run(nap(fixture.loop, 5s));
  fixture.pool.end_iteration(IterationId{1});
  fixture.loop.run(pass(fixture.loop, 3));
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_TRUE(judged[0]->withdrawn);
  ASSERT_TRUE(fixture.loop.run(group.join()));  // the main candidate is not affected
  EXPECT_EQ(judged[1]->verdict, Verdict::ok);
  EXPECT_EQ(fixture.count("c2 is withdrawn"), 1);
}

TEST(EvaluationPool, a_pool_without_devices_does_not_open) {
  PoolFixture unreachable;
  unreachable.host.is_reachable = false;
  auto opened = unreachable.loop.run(unreachable.pool.open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::device_missing);

  PoolFixture empty({}, {});
  EXPECT_FALSE(empty.loop.run(empty.pool.open()));
}

TEST(EvaluationPool, a_backend_without_devices_is_an_immediate_error) {
  PoolFixture fixture;
  fixture.open();
  Candidate candidate = fixture.candidate("good");
  candidate.backend = "cuda";
  auto judged = fixture.loop.run(fixture.pool.evaluate(candidate));
  ASSERT_FALSE(judged);
  EXPECT_EQ(judged.error().code, ErrorCode::device_missing);
}

TEST(EvaluationPool, a_device_never_has_two_jobs) {
  PoolFixture fixture({}, {"cpu:0", "cpu:1"});
  fixture.open();
  std::vector<Result<Judged>> judged;
  TaskGroup group(fixture.loop);
  for (int i = 0; i < 40; ++i) {
    group.spawn(collect(fixture.pool, fixture.candidate("kernel " + std::to_string(i)), judged));
  }
  ASSERT_TRUE(fixture.loop.run(group.join()));
  EXPECT_EQ(judged.size(), 40u);
  EXPECT_EQ(fixture.host.max_at_once, 1);
  EXPECT_EQ(fixture.pool.counters().judged, 40u);
}

TEST(EvaluationPool, the_winner_of_tuning_is_judged_as_a_candidate_of_its_own) {
  PoolFixture fixture;
  fixture.open();
  const std::string written = "a\n// specgen:tune B = 1, 2\n",
                    better = "a\n// specgen:tune B = 2, 1\n";
  auto tune = [&](Speedup confirmed) {
    return fixture.loop.run(fixture.pool.tune(fixture.candidate(written), confirmed)).value();
  };
  EXPECT_EQ(fixture.evaluate(written)->speedup.median, 3);
  auto tuned = tune({3, 3, 3});
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->source, better);
  EXPECT_EQ(tuned->tunables, (Values{{"B", 2}}));
  EXPECT_EQ(tuned->judged.speedup.median, 5);
  EXPECT_EQ(fixture.host.count("tune"), 1u);
  EXPECT_EQ(fixture.host.count("validate"), 3u);  // as written, before the sweep, and the winner
  EXPECT_EQ(fixture.count("c1 is ok"), 1);
  // Both verdicts are remembered.
  EXPECT_EQ(fixture.evaluate(written)->speedup.median, 3);
  auto again = fixture.evaluate(better);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->speedup.median, 5);
  EXPECT_FALSE(tune({6, 6, 6}));  // no gain
}

Task<bool> tuned_in_time(Loop& loop, EvaluationPool& pool, Candidate candidate) {
  auto outcome = co_await race(pool.tune(std::move(candidate), {}), loop.sleep(1s));
  co_return outcome.first() != nullptr;
}

TEST(EvaluationPool, tuning_may_be_abandoned_or_fail) {
  PoolFixture fixture;
  fixture.open();
  EXPECT_FALSE(fixture.loop.run(tuned_in_time(fixture.loop, fixture.pool,
                                              fixture.candidate("a\n// specgen:tune B = 1, 2\n"))));
  EXPECT_EQ(fixture.evaluate("b")->speedup.median, 3);
  // The sweep kills its executor.
  auto poisoned = fixture.loop.run(
      fixture.pool.tune(fixture.candidate("poison\n// specgen:tune B = 1, 2\n"), {}));
  ASSERT_TRUE(poisoned);
  EXPECT_FALSE(*poisoned);
}

TEST(EvaluationPool, an_idle_device_is_offered_to_its_host_once_per_idle_period) {
  PoolFixture fixture;
  fixture.host.shares_memory = true;
  fixture.open();
  fixture.loop.run(nap(fixture.loop, 1s));
  EXPECT_EQ(fixture.host.count("lend"), 0u);
  fixture.loop.run(nap(fixture.loop, 10s));
  EXPECT_EQ(fixture.host.count("lend cpu:0"), 1u);
  ASSERT_TRUE(fixture.evaluate("good"));
  ASSERT_TRUE(fixture.evaluate("fine"));  // within the two seconds
  EXPECT_EQ(fixture.host.count("lend"), 1u);
  fixture.loop.run(nap(fixture.loop, 3s));
  EXPECT_EQ(fixture.host.count("lend"), 2u);
  EXPECT_EQ(fixture.pool.counters().offered, 2u);
}

TEST(EvaluationPool, a_host_without_shared_memory_gets_no_offers) {
  PoolFixture fixture;
  fixture.open();
  fixture.loop.run(nap(fixture.loop, 10s));
  EXPECT_EQ(fixture.host.count("lend"), 0u);
  EXPECT_EQ(fixture.pool.counters().offered, 0u);
}

}  // namespace
}  // namespace specgen
