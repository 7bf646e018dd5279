#include "report/no_result.h"

#include <gtest/gtest.h>

#include "report/fake_run.h"

namespace specgen {
namespace {

NoResult reason_of(const RunData& run) {
  auto reason = why_no_result(run, 0);
  EXPECT_TRUE(reason);
  return reason.value_or(NoResult{});
}

TEST(NoResult, a_task_with_a_best_kernel_needs_no_reason) {
  FakeRun run;
  IterationId id = run.iteration();
  run.confirm(run.candidate(id, Origin::main, "a", 1), 1.5, 5);
  EXPECT_FALSE(why_no_result(run.data(), 0));
}

TEST(NoResult, a_run_without_an_ended_iteration_says_so_and_whether_to_wait_or_resume) {
  FakeRun fake;
  fake.iteration();
  RunData run = fake.data();
  NoResult interrupted = reason_of(run);
  EXPECT_EQ(interrupted.reason, "no iteration has ended yet, and the run was interrupted");
  EXPECT_TRUE(interrupted.advice.contains("--resume runs/fake")) << interrupted.advice;
  run.is_running = true;
  NoResult running = reason_of(run);
  EXPECT_EQ(running.reason, "no iteration has ended yet");
  EXPECT_TRUE(running.advice.contains("later")) << running.advice;
}

TEST(NoResult, failed_candidates_are_counted_by_their_commonest_verdict) {
  FakeRun run;
  IterationId id = run.iteration();
  for (Verdict verdict : {Verdict::wrong, Verdict::compile_error, Verdict::compile_error}) {
    run.judge(run.candidate(id, Origin::main, "a", 1), {.verdict = verdict});
  }
  run.judge(run.candidate(id, Origin::main, "a", 1), {.withdrawn = true});
  run.end(id, IterationEnd::answered);
  EXPECT_EQ(reason_of(run.data()).reason,
            "none of the 3 candidates is correct and profiled; most frequent verdict: "
            "compile_error (2 of 3)");
}

TEST(NoResult, a_model_that_did_not_answer_is_named_with_its_error_and_the_command_that_checks_it) {
  FakeRun fake;
  IterationId id = fake.iteration();
  fake.add(to_entry(IterationEnded{
      .id = id, .end = IterationEnd::failed, .note = "connection refused\nmore lines"}));
  RunData run = fake.data();
  run.manifest = R"({"model": "openai:glm@http://h/v1"})";
  NoResult reason = reason_of(run);
  EXPECT_EQ(reason.reason, "the model did not answer: connection refused");
  EXPECT_EQ(reason.advice, "check it with `specgen doctor --model openai:glm@http://h/v1`");
}

TEST(NoResult, answers_without_a_kernel_are_counted) {
  FakeRun run;
  IterationId id = run.iteration();
  run.add(to_entry(
      IterationEnded{.id = id, .end = IterationEnd::no_kernel, .note = "the answer is empty"}));
  EXPECT_EQ(reason_of(run.data()).reason, "1 of 1 answers have no kernel: the answer is empty");
}

TEST(NoResult, a_run_that_ended_before_anything_was_evaluated_names_what_ended_it) {
  FakeRun run;
  run.iteration();
  run.add(run_ended_entry("wall time"));
  EXPECT_TRUE(reason_of(run.data()).reason.contains("ended by wall time"));
}

}  // namespace
}  // namespace specgen
