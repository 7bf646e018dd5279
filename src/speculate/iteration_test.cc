#include "speculate/iteration.h"

#include <algorithm>

#include "speculate/scripted_iteration.h"

namespace specgen {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class IterationTest : public testing::Test, public IterationFixture {
 protected:
  Task<void> free_the_device_at(Duration when) {
    co_await runtime.loop.sleep(when);
    pool_load = {.devices = 1, .idle_devices = 1};
  }
  Task<void> become_busy_at(Duration when) {
    co_await runtime.loop.sleep(when);
    pool_load = {.queued = {0, 5}, .devices = 1};
  }
  IterationReport run() {
    Iteration here(context(), setup());
    return IterationFixture::run(here);
  }
};

TEST_F(IterationTest, ends_when_the_answer_is_evaluated) {
  model.main = {{seconds(10), DeltaKind::reasoning, "hm\n"},
                {seconds(1), DeltaKind::content, fenced(1)}};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(12));
  EXPECT_EQ(report.tokens, 77);
  EXPECT_EQ(report.reasoning, "hm\n");
  ASSERT_EQ(submitted.size(), 1u);
  EXPECT_EQ(submitted[0].origin, Origin::main);
  EXPECT_EQ(submitted[0].source, kernel(1));
}

TEST_F(IterationTest, stops_the_stream_when_a_draft_meets_the_criterion) {
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(7)},
                {seconds(100), DeltaKind::reasoning, "more"},
                {seconds(1), DeltaKind::content, fenced(1)}};
  results[7] = {.takes = seconds(2), .meets_criterion = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(report.by, CandidateId{1});
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.log, Log{"main cancelled"});
  EXPECT_EQ(submitted[0].origin, Origin::harvest);
}

TEST_F(IterationTest,
       submits_one_draft_while_the_devices_are_busy_and_keeps_the_latest_of_the_others) {
  pool_load = {.queued = {0, 3}, .devices = 1};
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(3)},
                {seconds(1), DeltaKind::reasoning, "Or:\n" + fenced(7)},
                {seconds(1), DeltaKind::reasoning, "Better:\n" + fenced(8)},
                {seconds(1), DeltaKind::reasoning, "Hm.\n"},
                {seconds(9), DeltaKind::reasoning, "more"}};
  results[3] = {.takes = seconds(60)};
  evaluating.spawn(free_the_device_at(milliseconds(3500)));
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::no_kernel);
  ASSERT_EQ(submitted.size(), 2u);
  EXPECT_EQ(submitted[0].source, kernel(3));
  EXPECT_EQ(submitted[1].source, kernel(8));
}

TEST_F(IterationTest, submits_a_waiting_draft_when_the_stream_ends_without_a_kernel) {
  pool_load = {.queued = {0, 3}, .devices = 1};
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(3)},
                {seconds(1), DeltaKind::reasoning, "Or:\n" + fenced(7)}};
  results[3] = {.takes = seconds(60)};
  EXPECT_EQ(run().end, IterationEnd::no_kernel);
  EXPECT_EQ(submitted.size(), 2u);
  model.breaks = true;
  EXPECT_EQ(run().end, IterationEnd::failed);
  EXPECT_EQ(submitted.size(), 4u);
}

TEST_F(IterationTest, forks_at_a_trigger_and_stops_when_the_fork_meets_the_criterion) {
  model.main = {{seconds(1), DeltaKind::reasoning, "Let me see.\nI dec"},
                {seconds(1), DeltaKind::reasoning, "ide to tile.\nAnd then"},
                {seconds(50), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(2), DeltaKind::content, kernel(2)}};
  results[2] = {.takes = seconds(1), .meets_criterion = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(took, seconds(5));
  ASSERT_EQ(model.requests.size(), 2u);
  const Request& fork = model.requests[1];
  EXPECT_EQ(fork.prefix->text, "Let me see.\nI decide to tile.\n");
  EXPECT_EQ(fork.mode, Mode::answer);
  EXPECT_EQ(fork.purpose, "fork");
  EXPECT_EQ(fork.affinity, "i1");
  EXPECT_EQ(fork.answer_start, "```cpp\n");
  EXPECT_LT(fork.priority, model.requests[0].priority);
  ASSERT_EQ(submitted.size(), 1u);
  EXPECT_EQ(submitted[0].origin, Origin::fork);
  EXPECT_EQ(submitted[0].trigger, "decided");
  EXPECT_EQ(submitted[0].source, kernel(2));
}

TEST_F(IterationTest, forks_later_at_a_trigger_that_was_too_close_to_the_last_fork) {
  std::string more = std::string(3 * 300, 'x') + "\n";  // about 300 tokens
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide one thing.\n"},
                {seconds(1), DeltaKind::reasoning, more},
                {seconds(1), DeltaKind::reasoning, "I decide another thing.\n"},
                {seconds(1), DeltaKind::reasoning, std::string(300, 'y') + "\n"},
                {seconds(1), DeltaKind::reasoning, "I decide the last thing.\n"},
                {seconds(1), DeltaKind::reasoning, more},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(1), DeltaKind::content, kernel(2)}};
  run();
  ASSERT_EQ(model.requests.size(), 3u);
  EXPECT_TRUE(model.requests[1].prefix->text.ends_with("one thing.\n"));
  EXPECT_TRUE(model.requests[2].prefix->text.ends_with("the last thing.\n"));
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::too_close)], 2u);
}

TEST_F(IterationTest, awaits_the_fork_of_a_decision_that_came_after_the_first_kernel) {
  std::string more = std::string(3 * 600, 'x') + "\n";
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(0), DeltaKind::reasoning, more},
                {seconds(1), DeltaKind::reasoning, "I decide for more.\n"},
                {seconds(2), DeltaKind::reasoning, "So.\n"},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(3), DeltaKind::content, kernel(2)}};
  results[7] = {.takes = seconds(2), .meets_criterion = true, .is_first = true};
  results[2] = {.takes = seconds(1), .has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(report.by, CandidateId{1});
  EXPECT_EQ(took, seconds(6));  // not after 3 s, when the draft's result came
}

TEST_F(IterationTest, submits_its_first_draft_however_busy_the_devices_are) {
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(4), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::reasoning, fenced(8)},
                {seconds(4), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(2), DeltaKind::content, kernel(2)}};
  results[2] = results[7] = {.takes = seconds(60)};
  evaluating.spawn(become_busy_at(seconds(4)));
  EXPECT_EQ(run().end, IterationEnd::answered);
  std::vector<Origin> origins;
  for (const FoundKernel& kernel : submitted) origins.push_back(kernel.origin);
  EXPECT_EQ(origins, (std::vector{Origin::fork, Origin::harvest, Origin::main}));
}

TEST_F(IterationTest, is_abandoned_when_its_candidates_keep_failing) {
  set_stopping({.abandon_after_failures = 4});
  model.main = {
      {seconds(1), DeltaKind::reasoning, fenced(3)}, {seconds(1), DeltaKind::reasoning, fenced(9)},
      {seconds(1), DeltaKind::reasoning, fenced(4)}, {seconds(1), DeltaKind::reasoning, fenced(5)},
      {seconds(1), DeltaKind::reasoning, fenced(6)}, {seconds(1), DeltaKind::reasoning, fenced(8)},
      {seconds(90), DeltaKind::content, fenced(1)}};
  results[9] = {.has_feedback = false};  // ok, and nothing new
  for (int number : {3, 4, 5, 6, 8}) results[number] = {.has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(7));
  EXPECT_TRUE(report.note.starts_with("4 candidates")) << report.note;
}

TEST_F(IterationTest, repairs_a_failed_draft_at_once) {
  repairs = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.repair = {{seconds(2), DeltaKind::content, fenced(5)}};
  results[3] = {.has_feedback = false, .failed = true};
  results[5] = {.meets_criterion = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(took, seconds(5));
  ASSERT_EQ(model.requests.size(), 2U);
  const Request& asked = model.requests[1];
  EXPECT_EQ(asked.mode, Mode::answer);
  EXPECT_EQ(asked.affinity, "i1");
  ASSERT_EQ(asked.messages.size(), 3U);
  EXPECT_EQ(asked.messages[1].text, "kernel 1");
  EXPECT_EQ(submitted.at(1).origin, Origin::fork);
  EXPECT_EQ(submitted.at(1).trigger, "repair");
  EXPECT_EQ(submitted.at(1).repairs, CandidateId{1});
}

TEST_F(IterationTest, takes_a_diff_for_a_repaired_kernel) {
  repairs = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.repair = {{seconds(2), DeltaKind::content, diff(3, 5)}};
  results[3] = {.has_feedback = false, .failed = true};
  results[5] = {.meets_criterion = true};
  EXPECT_EQ(run().end, IterationEnd::stopped);
  EXPECT_EQ(submitted.at(1).source, kernel(5));
}

// A failure that is being repaired does not count yet. Neither a repeated failure nor a repair is repaired.
TEST_F(IterationTest, is_abandoned_when_repairs_do_not_help) {
  repairs = true;
  settings.max_repairs = 1;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(1), DeltaKind::reasoning, fenced(4)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.repair = {{seconds(2), DeltaKind::content, fenced(5)}};
  results[3] = results[5] = {.has_feedback = false, .failed = true};
  results[4] = {.has_feedback = false, .failed = true, .repeated = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(5));  // after 2 s one was being repaired, after 3 s one had failed
  EXPECT_EQ(model.requests.size(), 2U);
}

TEST_F(IterationTest, counts_a_repair_that_repeats_a_known_kernel_as_a_failure) {
  repairs = true;
  set_stopping({.abandon_after_failures = 1});
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.repair = {{seconds(2), DeltaKind::content, fenced(5)}};
  results[3] = {.has_feedback = false, .failed = true};
  results[5] = {.has_feedback = false, .repeated = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(5));
}

TEST_F(IterationTest, with_feedback_is_abandoned_after_the_usual_tokens) {
  totals.run = {.tokens = 300, .stopped = 3};
  const std::string text(120, 'x');  // some forty tokens
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(2), DeltaKind::reasoning, text},
                {seconds(2), DeltaKind::reasoning, text},
                {seconds(2), DeltaKind::reasoning, text},
                {seconds(90), DeltaKind::content, fenced(1)}};
  results[3] = {.has_feedback = false};  // ok, and nothing new
  EXPECT_EQ(run().end, IterationEnd::answered);

  last_id = 0;
  results[3] = {};
  Duration before = took;
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_LE(took - before, seconds(7));

  set_stopping({.settle_after = 0});
  EXPECT_EQ(run().end, IterationEnd::answered);
  set_stopping({});
  totals.run = {};  // no candidate has met the criterion yet
  EXPECT_EQ(run().end, IterationEnd::answered);
}

TEST_F(IterationTest, repairs_its_answer_if_there_is_no_other_feedback) {
  repairs = true;
  model.main = {{seconds(1), DeltaKind::content, fenced(3)}};
  model.repair = {{seconds(2), DeltaKind::content, fenced(5)}};
  results[3] = {.has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(5));
  EXPECT_EQ(submitted.size(), 2U);
}

TEST_F(IterationTest, cancels_its_forks_when_it_is_stopped) {
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(60), DeltaKind::content, kernel(2)}};
  results[7] = {.takes = seconds(1), .meets_criterion = true};
  run();
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.requests.size(), 2u);
  EXPECT_EQ(std::ranges::count(model.log, "fork cancelled"), 1);
  EXPECT_EQ(std::ranges::count(model.log, "main cancelled"), 1);
}

TEST_F(IterationTest, makes_no_fork_that_does_not_fit_the_budget) {
  has_budget = false;
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(9), DeltaKind::content, fenced(1)}};
  run();
  EXPECT_EQ(model.requests.size(), 1u);
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::budget)], 1u);
}

TEST_F(IterationTest, that_wants_a_diff_lets_forks_write_one) {
  parent = kernel(3);
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(9), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(1), DeltaKind::content, diff(3, 4)}};
  run();
  EXPECT_EQ(model.requests.at(1).answer_start, "");
  EXPECT_TRUE(model.requests.at(1).stop.empty());
  ASSERT_EQ(submitted.size(), 2u);
  EXPECT_EQ(submitted[0].source, kernel(4));
}

TEST_F(IterationTest, without_speculation_evaluates_only_the_answer) {
  settings = {.harvest = false, .forks = false};
  set_stopping({.early_stop = false});
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n" + fenced(7)},
                {seconds(9), DeltaKind::content, fenced(1)}};
  results[7] = {.meets_criterion = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(model.requests.size(), 1u);
  EXPECT_EQ(submitted.size(), 1u);
}

TEST_F(IterationTest, awaits_the_feedback_of_a_draft_when_the_answer_fails) {
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::content, fenced(1)}};
  results[7] = {.takes = seconds(30)};
  results[1] = {.takes = seconds(1), .has_feedback = false};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(31));
}

TEST_F(IterationTest, does_not_await_drafts_when_the_answer_has_feedback) {
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::content, fenced(1)}};
  results[7] = {.takes = seconds(30)};
  run();
  EXPECT_EQ(took, seconds(3));
}

TEST_F(IterationTest, without_a_kernel_reports_why) {
  model.main = {{seconds(1), DeltaKind::content, "I cannot do that."}};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::no_kernel);
  EXPECT_FALSE(report.note.empty());
}

TEST_F(IterationTest, whose_stream_breaks_awaits_the_results_of_its_drafts) {
  model.breaks = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)}};
  results[7] = {.takes = seconds(5)};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::failed);
  EXPECT_NE(report.note.find("cut"), std::string::npos);
  EXPECT_EQ(took, seconds(6));
}

TEST_F(IterationTest, that_cannot_start_has_failed) {
  model.refuses = true;
  EXPECT_EQ(run().end, IterationEnd::failed);
}

TEST_F(IterationTest, ends_at_once_when_the_run_ends) {
  model.main = {{seconds(100), DeltaKind::reasoning, "hm"}};
  evaluating.spawn([](VirtualRuntime& its_runtime, Event& its_stop) -> Task<void> {
    co_await its_runtime.loop.sleep(seconds(3));
    its_stop.set();
  }(runtime, stop));
  EXPECT_EQ(run().end, IterationEnd::interrupted);
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.log, Log{"main cancelled"});
}

TEST_F(IterationTest, passes_its_stream_on_for_a_shadow) {
  settings.shadow = 1;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  results[7] = {.takes = seconds(1), .meets_criterion = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_TRUE(report.shadow);
  EXPECT_TRUE(model.log.empty());
}

TEST_F(IterationTest, fails_when_the_stream_is_endless) {
  for (int i = 0; i < 64; ++i) {
    model.main.push_back({milliseconds(1), DeltaKind::reasoning, std::string(1 << 20, 'x')});
  }
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::failed);
  EXPECT_LT(report.reasoning.size(), std::size_t{20} << 20);
}

}  // namespace
}  // namespace specgen
