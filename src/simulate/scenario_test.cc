#include "simulate/scenario.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

std::string refusal(std::string_view toml) {
  auto scenario = parse_scenario(toml, "s.toml");
  if (scenario) return "accepted";
  EXPECT_EQ(scenario.error().code, ErrorCode::bad_scenario);
  EXPECT_EQ(scenario.error().exit_code(), ExitCode::usage);
  return scenario.error().context;
}

TEST(Scenario, an_empty_file_gives_the_defaults) {
  auto scenario = parse_scenario("", "s.toml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->run.workflow, "refine");
  EXPECT_GT(scenario->devices(), 0);
  for (double rate : scenario->faults.rates) EXPECT_EQ(rate, 0);
}

TEST(Scenario, reads_the_file) {
  auto scenario = parse_scenario(R"(
title = "two"
[run]
workflows = 2
time_budget = "90m"
[model]
reasoning_tokens = 5000
delta_tokens = 64
[kernels.fork]
success_at_end = 0.5
[devices]
hosts = 3
per_host = 4
profile = "30s"
[pool]
form = "split"
after_iteration = "withdraw"
[faults]
stream_cut = 0.25
outage = 2
[faults.lasts]
outage = "5m"
)",
                                 "s.toml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->run.workflows, 2);
  EXPECT_EQ(scenario->run.time_budget, std::chrono::minutes(90));
  EXPECT_EQ(scenario->model.writing.reasoning_tokens, 5000);
  EXPECT_EQ(scenario->model.trace.part_tokens, 64);
  EXPECT_EQ(scenario->model.skill.fork_success.at_end, 0.5);
  EXPECT_EQ(scenario->devices(), 12);
  EXPECT_EQ(scenario->host.profile.median, std::chrono::seconds(30));
  EXPECT_EQ(scenario->pool.scheduler.form, PoolForm::split);
  EXPECT_EQ(scenario->pool.after_iteration, PoolSettings::AfterIteration::withdraw);
  EXPECT_EQ(scenario->faults.rate(Fault::stream_cut), 0.25);
  EXPECT_EQ(scenario->faults.outage, std::chrono::minutes(5));
}

TEST(Scenario, old_names_of_renamed_keys_are_still_read) {
  auto scenario = parse_scenario(R"(
[run]
thinkers = 3
[speculation]
begin_again = 4
most_in_flight = 5
[model]
thinking_tokens = 5000
thinking_sigma = 0.75
[devices]
lanes_per_host = 11
[checks]
most_time = "13h"
)",
                                 "s.toml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_EQ(scenario->run.max_streams, 3);
  EXPECT_EQ(scenario->speculation.stopping.max_restarts, 4);
  EXPECT_EQ(scenario->speculation.gate.max_in_flight, 5);
  EXPECT_EQ(scenario->model.writing.reasoning_tokens, 5000);
  EXPECT_EQ(scenario->model.writing.reasoning_sigma, 0.75);
  EXPECT_EQ(scenario->host.compile_slots, 11);
  EXPECT_EQ(scenario->checks.max_time, std::chrono::hours(13));
}

TEST(Scenario, a_key_under_both_names_is_refused) {
  EXPECT_TRUE(refusal("[checks]\nmax_time = \"1h\"\nmost_time = \"2h\"\n").contains("most_time"));
}

TEST(Scenario, an_unknown_key_is_refused_with_a_suggestion) {
  std::string error = refusal("[faults]\nstream_cutt = 0.1\n");
  EXPECT_TRUE(error.contains("s.toml:2")) << error;
  EXPECT_TRUE(error.contains("stream_cut")) << error;
  EXPECT_TRUE(refusal("[devises]\nhosts = 1\n").contains("devices"));
}

TEST(Scenario, an_impossible_value_is_refused_with_key_and_reason) {
  EXPECT_TRUE(refusal("[devices]\nper_host = 0\n").contains("'per_host' must be within 1"));
  EXPECT_TRUE(refusal("[devices]\nhosts = -1\n").contains("'hosts'"));
  EXPECT_TRUE(refusal("[faults]\npoison = 1.5\n").contains("'poison' must be within 0 and 1"));
  EXPECT_TRUE(refusal("[faults]\noutage = -1\n").contains("'outage'"));
  EXPECT_TRUE(refusal("[faults]\nstream_cut = nan\n").contains("'stream_cut'"));
  EXPECT_TRUE(refusal("[model]\ntokens_per_second = 0\n").contains("'tokens_per_second'"));
  EXPECT_TRUE(refusal("[model]\ndelta_tokens = 8\n").contains("'delta_tokens'"));
  EXPECT_TRUE(refusal("[run]\ncriterion = \"luck\"\n").contains("'criterion'"));
  EXPECT_TRUE(refusal("[pool]\nform = \"round\"\n").contains("'form'"));
  EXPECT_TRUE(refusal("[pool]\nafter_iteration = \"keep\"\n").contains("'after_iteration'"));
  EXPECT_TRUE(refusal("[run]\ntime_budget = \"soon\"\n").contains("'time_budget'"));
  EXPECT_TRUE(refusal("[run]\niterations = \"ten\"\n").contains("'iterations'"));
  EXPECT_TRUE(
      refusal("[kernels]\nceiling = 1\nfirst_speedup = 2\n").contains("'ceiling' must not be"));
}

}  // namespace
}  // namespace specgen
