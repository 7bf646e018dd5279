#include "speculate/repair_runner.h"

#include "speculate/scripted_iteration.h"

namespace specgen {
namespace {

using std::chrono::seconds;

class RepairRunnerTest : public testing::Test, public IterationFixture {
 protected:
  RepairRunnerTest() {
    repairs = true;
    model.repair = {{seconds(1), DeltaKind::content, fenced(5)}};
    submitted.push_back({.source = kernel(3), .origin = Origin::harvest});
  }

  bool start(CandidateResult failed, IterationProgress progress = {}) {
    if (!runner) {
      its_setup = setup();
      runner = std::make_unique<RepairRunner>(
          its_context, its_setup, follower, generations,
          [this](std::optional<FoundKernel> kernel) { repaired.push_back(std::move(kernel)); });
    }
    failed.id = {1};
    failed.failed = true;
    bool has_started = runner->start(failed, progress);
    runtime.loop.run(
        [](Loop& loop) -> Task<void> { co_await loop.sleep(seconds(2)); }(runtime.loop));
    return has_started;
  }

  IterationContext its_context = context();
  IterationSetup its_setup;
  StreamFollower follower{"cpu", false, nullptr};
  SideGenerations generations{runtime.loop, model};
  std::unique_ptr<RepairRunner> runner;
  std::vector<std::optional<FoundKernel>> repaired;
};

TEST_F(RepairRunnerTest, sends_the_failed_kernel_and_the_failure_after_the_main_prompt) {
  EXPECT_TRUE(start({.origin = Origin::harvest, .prefix_bytes = 12}));
  ASSERT_EQ(model.requests.size(), 1u);
  const Request& request = model.requests[0];
  EXPECT_EQ(request.mode, Mode::answer);
  EXPECT_EQ(request.purpose, "fork");
  EXPECT_EQ(request.affinity, "i1");
  EXPECT_LT(request.priority, its_setup.main.priority);
  ASSERT_EQ(request.messages.size(), 3u);
  EXPECT_EQ(request.messages[0].text, "write");
  EXPECT_EQ(request.messages[1].text, "kernel 1");
  EXPECT_EQ(request.messages[2].text, "repair it");
  ASSERT_TRUE(repaired.at(0));
  EXPECT_EQ(repaired[0]->source, kernel(5));
  EXPECT_EQ(repaired[0]->origin, Origin::fork);
  EXPECT_EQ(repaired[0]->trigger, "repair");
  EXPECT_EQ(repaired[0]->repairs, CandidateId{1});
  EXPECT_EQ(repaired[0]->prefix_bytes, 12u);
}

TEST_F(RepairRunnerTest, takes_a_diff_against_the_failed_kernel) {
  model.repair = {{seconds(1), DeltaKind::content, diff(3, 5)}};
  EXPECT_TRUE(start({}));
  ASSERT_TRUE(repaired.at(0));
  EXPECT_EQ(repaired[0]->source, kernel(5));
}

TEST_F(RepairRunnerTest, repairs_neither_repeated_failures_nor_repairs) {
  EXPECT_FALSE(start({.repeated = true}));
  EXPECT_FALSE(start({.is_repair = true}));
  EXPECT_TRUE(model.requests.empty());
}

TEST_F(RepairRunnerTest, repairs_the_main_answer_only_without_other_feedback) {
  EXPECT_FALSE(start({.origin = Origin::main}, {.has_feedback = true}));
  EXPECT_TRUE(start({.origin = Origin::fork}, {.has_feedback = true}));
  EXPECT_TRUE(start({.origin = Origin::main}));
}

TEST_F(RepairRunnerTest, repairs_nothing_once_a_candidate_met_the_criterion) {
  EXPECT_FALSE(start({.origin = Origin::fork}, {.winner = {9}}));
}

TEST_F(RepairRunnerTest, limits_the_repairs_of_an_iteration) {
  settings.max_repairs = 1;
  EXPECT_TRUE(start({}));
  EXPECT_FALSE(start({}));
}

TEST_F(RepairRunnerTest, does_without_repairs_where_forks_are_off_or_cost_too_much) {
  has_budget = false;
  EXPECT_FALSE(start({}));
  has_budget = true;
  repairs = false;
  EXPECT_FALSE(start({})) << "the workflow has no prompt for it";
  repairs = true;
  runner.reset();
  settings.forks = false;
  EXPECT_FALSE(start({}));
}

TEST_F(RepairRunnerTest, reports_a_repair_without_a_kernel) {
  model.repair = {{seconds(1), DeltaKind::content, "I cannot do that."}};
  EXPECT_TRUE(start({}));
  model.refuses = true;
  EXPECT_TRUE(start({}));
  EXPECT_EQ(repaired.size(), 2u);
  for (const auto& kernel : repaired) EXPECT_FALSE(kernel);
}

}  // namespace
}  // namespace specgen
