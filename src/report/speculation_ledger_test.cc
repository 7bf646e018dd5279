#include "report/speculation_ledger.h"

#include <gtest/gtest.h>

#include "report/fake_run.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(SpeculationLedger, counts_how_iterations_ended) {
  FakeRun run;
  IterationId first = run.iteration();
  CandidateId harvested = run.candidate(first, Origin::harvest, "a", 1);
  run.confirm(harvested, 1.5, 5);
  run.end(first, IterationEnd::stopped, harvested, 500);
  IterationId second = run.iteration();
  CandidateId forked = run.candidate(second, Origin::fork, "b", 6);
  run.confirm(forked, 2, 9);
  run.end(second, IterationEnd::stopped, forked, 300);
  IterationId third = run.iteration();
  run.end(third, IterationEnd::answered);
  run.iteration();  // has not ended: not counted

  SpeculationLedger ledger = speculation_ledger(run.data().state);
  EXPECT_EQ(ledger.iterations, 3);
  EXPECT_EQ(ledger.stopped_by_harvest, 1);
  EXPECT_EQ(ledger.stopped_by_fork, 1);
  EXPECT_EQ(ledger.answered, 1);
  EXPECT_NEAR(ledger.early_share(), 2.0 / 3, 1e-9);
  EXPECT_NEAR(ledger.feedback_per_100(), 200.0 / 3, 1e-9);
  EXPECT_EQ(ledger.profiled, 2);
}

TEST(SpeculationLedger, saved_time_is_saved_tokens_at_the_rate_of_the_main_generations) {
  FakeRun run;
  IterationId id = run.iteration();
  run.call(id, "main", 1000, 0, 10);
  run.call(id, "fork", 200, 5, 6);
  CandidateId fork = run.candidate(id, Origin::fork, "a", 6);
  run.confirm(fork, 2, 10);
  run.end(id, IterationEnd::stopped, fork, 500);
  SpeculationLedger ledger = speculation_ledger(run.data().state);
  EXPECT_DOUBLE_EQ(ledger.main_tokens_per_second, 100);
  EXPECT_EQ(ledger.time_saved, 5s);
  EXPECT_EQ(ledger.saved(), 5s);
  EXPECT_EQ(ledger.net_tokens(), 300);
}

TEST(SpeculationLedger, a_shadows_measurement_replaces_the_estimate) {
  FakeRun run;
  IterationId id = run.iteration();
  run.call(id, "main", 1000, 0, 10);
  CandidateId fork = run.candidate(id, Origin::fork, "a", 6);
  run.confirm(fork, 2, 10);
  run.end(id, IterationEnd::stopped, fork, 500);
  CandidateId missed = run.candidate(id, Origin::main, "b", 20, {}, {}, true);
  run.confirm(missed, 3, 22);
  run.shadow(id, 800, 7);
  SpeculationLedger ledger = speculation_ledger(run.data().state);
  EXPECT_EQ(ledger.shadows, 1);
  EXPECT_EQ(ledger.tokens_saved(), 800);
  EXPECT_EQ(ledger.saved(), 7s);
  EXPECT_EQ(ledger.time_saved, 5s);
  EXPECT_EQ(ledger.forgone_better, 1);
  EXPECT_EQ(ledger.origins[0].found, 0) << "kernels of shadows are not counted";
}

TEST(SpeculationLedger, utilisation_counts_neither_repeated_nor_withdrawn_work) {
  FakeRun run;
  IterationId id = run.iteration();
  CandidateId one = run.candidate(id, Origin::main, "a", 1);
  run.confirm(one, 2, 10, 2);
  CandidateId same = run.candidate(id, Origin::fork, "a", 1);
  auto span = [](int from, int to) {
    return StageSpan{.stage = Stage::profile,
                     .device = "cpu:1",
                     .started = Time(std::chrono::seconds(from)),
                     .ended = Time(std::chrono::seconds(to))};
  };
  run.judge(same, {.verdict = Verdict::ok, .repeated = true, .spans = {span(2, 6)}, .at = 6s});
  CandidateId gone = run.candidate(id, Origin::fork, "c", 1);
  run.judge(gone, {.withdrawn = true, .at = 7s});
  SpeculationLedger ledger = speculation_ledger(run.data().state);
  EXPECT_EQ(ledger.devices, 2);
  EXPECT_EQ(ledger.device_time, 2s);
  EXPECT_DOUBLE_EQ(ledger.utilisation(), 2.0 / 20);
  EXPECT_EQ(ledger.speculative_device_time(), 0s);
}

TEST(SpeculationLedger, the_users_own_kernel_is_not_an_iteration) {
  FakeRun run;
  run.end(run.iteration(0, std::string(kStartRole)), IterationEnd::answered);
  run.end(run.iteration(), IterationEnd::answered);
  SpeculationLedger ledger = speculation_ledger(run.data().state);
  EXPECT_EQ(ledger.iterations, 1);
  EXPECT_EQ(ledger.answered, 1);
}

TEST(SpeculationLedger, an_empty_run_has_zeros) {
  SpeculationLedger ledger = speculation_ledger(FakeRun().data().state);
  EXPECT_EQ(ledger.early_share(), 0);
  EXPECT_EQ(ledger.utilisation(), 0);
  EXPECT_EQ(ledger.saved(), 0s);
}

}  // namespace
}  // namespace specgen
