// The author and evaluation alone, without a search above them: feedback goes into the next prompt, and
// the kernels become faster than the baseline.

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "generate/answer/extract.h"
#include "generate/author/author_model.h"
#include "generate/prompt_context.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

constexpr int kMaxIterations = 16;
constexpr double kWanted = 1.2;

class AuthorLoop : public testing::TestWithParam<std::string> {
 protected:
  // Retried while the machine's timing is unstable.
  PromptFeedback judge_steadily(const std::string& task, const std::string& source) {
    PromptFeedback feedback = judge(task, source);
    for (int tries = 1; tries < 4 && feedback.verdict == "unstable_timing"; ++tries) {
      feedback = judge(task, source);
    }
    return feedback;
  }
  PromptFeedback judge(const std::string& task, const std::string& source) {
    std::string file = fixture_.write("candidate.cc", source);
    Command command = fixture_.command(
        {SPECGEN_BINARY, "eval", SPECGEN_SOURCE_DIR "/tasks/" + task, file, "--json"});
    command.time_limit = std::chrono::minutes(4);  // others may be using the device
    Finished eval =
        fixture_.fixture.run(fixture_.fixture.processes.run(std::move(command))).value();
    auto json = parse_json(eval.output);
    if (!json) {
      ADD_FAILURE() << eval.error_output;
      return {.verdict = "harness_error"};
    }
    const Json* speedup = member_at(*json, "speedup");
    return {.source = source,
            .verdict = text_at(*json, "verdict"),
            .speedup = speedup ? number_at(*speedup, "median") : 0,
            .evidence = text_at(*member_at(*json, "evidence"), "text")};
  }

  ProgramFixture fixture_{SPECGEN_TEST_CACHE};
};

TEST_P(AuthorLoop, of_author_and_evaluation_beats_the_baseline) {
  AuthorModel model(fixture_.fixture.loop, author_at_pace("instant").value());
  PromptContext context{.task = GetParam(), .backend = "cpu"};
  double best = 0;
  for (int i = 0; i < kMaxIterations && best <= kWanted; ++i) {
    context.iteration = i;
    Request request;
    request.messages = {{Speaker::user, to_prompt_block(context)}};
    Answer answer = fixture_.fixture.run(ask(model, std::move(request))).value();
    auto kernel = extract_kernel({.text = answer.content,
                                  .finish = answer.reason,
                                  .backend = "cpu",
                                  .parent = std::nullopt,
                                  .answer_start = {}});
    ASSERT_TRUE(kernel) << kernel.error().explanation;
    context.feedback.push_back(judge_steadily(GetParam(), kernel->source));
    const PromptFeedback& last = context.feedback.back();
    RecordProperty("iteration_" + std::to_string(i),
                   last.verdict + " " + std::to_string(last.speedup));
    if (last.verdict == "ok" && last.speedup > best) {
      best = last.speedup;
      context.parent_source = last.source;
    }
  }
  std::string history;
  for (const PromptFeedback& each : context.feedback) {
    history += each.verdict + " " + std::to_string(each.speedup) + "\n";
  }
  EXPECT_GT(best, kWanted) << history;
}

INSTANTIATE_TEST_SUITE_P(Tasks, AuthorLoop, testing::Values("softmax", "matmul_square"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace specgen
