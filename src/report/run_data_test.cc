#include "report/run_data.h"

#include <gtest/gtest.h>

#include "report/fake_run.h"

namespace specgen {
namespace {

RunData read(const FakeRun& fake, const std::map<std::string, std::string>& artifacts) {
  RunData run = run_from(fake.entries()).value();
  read_artifacts(run, [&](const ArtifactId& id) -> Result<std::string> {
    auto found = artifacts.find(id.sha256);
    if (found == artifacts.end()) return fail(ErrorCode::file_not_found, id.sha256);
    return found->second;
  });
  return run;
}

FakeRun run_with_winner() {
  FakeRun run;
  IterationId id = run.iteration();
  CandidateId slow = run.candidate(id, Origin::harvest, "slow", 1);
  run.confirm(slow, 1.1, 5);
  CandidateId fast = run.candidate(id, Origin::main, "fast", 6, slow);
  run.confirm(fast, 2, 9, 1, R"({"device": "cpu:0", "tunables": {"BLOCK": 64}})");
  run.end(id, IterationEnd::answered);
  return run;
}

TEST(RunData, has_sources_and_evaluations_of_all_candidates) {
  FakeRun fake = run_with_winner();
  RunData run = read(fake, fake.artifacts());
  EXPECT_EQ(run.source_of(run.state.candidates.at({1})), "slow");
  EXPECT_EQ(run.evaluation_of(run.state.candidates.at({1})), "");
  EXPECT_TRUE(run.evaluation_of(run.state.candidates.at({2})).contains("BLOCK"));
  EXPECT_TRUE(run.problems.empty());
}

TEST(RunData, a_lost_artifact_is_a_problem_and_the_rest_is_shown) {
  RunData run = read(run_with_winner(), {});
  EXPECT_EQ(run.source_of(run.state.candidates.at({1})), "");
  EXPECT_EQ(run.problems.size(), 3U);
}

TEST(RunData, the_winner_is_the_fastest_with_the_tunables_that_won) {
  Winner winner = winner_of(run_with_winner().data(), "softmax").value();
  EXPECT_EQ(winner.source, "fast");
  EXPECT_EQ(winner.device, "cpu:0");
  EXPECT_EQ(winner.tunables, (Values{{"BLOCK", 64}}));
  EXPECT_DOUBLE_EQ(winner.speedup.median, 2);
}

TEST(RunData, an_unknown_task_and_a_task_without_a_winner_are_errors) {
  RunData run = run_with_winner().data();
  Error unknown = winner_of(run, "sotfmax").error();
  EXPECT_EQ(unknown.code, ErrorCode::unknown_name);
  EXPECT_TRUE(unknown.context.contains("did you mean 'softmax'")) << unknown.context;
  FakeRun two({{"a", "tasks/a", "cpu"}, {"b", "tasks/b", "cpu"}});
  EXPECT_EQ(winner_of(two.data(), "").error().code, ErrorCode::bad_usage);
  EXPECT_TRUE(winner_of(two.data(), "b").error().context.contains("has no winner"));
}

}  // namespace
}  // namespace specgen
