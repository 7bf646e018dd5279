#include "generate/prompt_context.h"

#include <gtest/gtest.h>

#include <limits>

namespace specgen {
namespace {

PromptContext full_context() {
  return {.role = "diff",
          .task = "softmax:f16",
          .backend = "cuda",
          .baseline = "int a;\n```\nint b;\n",
          .parent_source = "// \"quoted\" \\ and \t tab\n```specgen-context\n",
          .feedback = {{"src", "ok", 1.25, "memory"}, {"", "wrong", 0, "row 3: \xc3\xa4"}},
          .advice = "use `width = 8`",
          .iteration = 7,
          .seed = std::numeric_limits<std::uint64_t>::max()};
}

void expect_equal(const PromptContext& a, const PromptContext& b) {
  EXPECT_EQ(a.role, b.role);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.backend, b.backend);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.parent_source, b.parent_source);
  EXPECT_EQ(a.advice, b.advice);
  EXPECT_EQ(a.iteration, b.iteration);
  EXPECT_EQ(a.seed, b.seed);
  ASSERT_EQ(a.feedback.size(), b.feedback.size());
  for (std::size_t i = 0; i < a.feedback.size(); ++i) {
    EXPECT_EQ(a.feedback[i].source, b.feedback[i].source);
    EXPECT_EQ(a.feedback[i].verdict, b.feedback[i].verdict);
    EXPECT_EQ(a.feedback[i].speedup, b.feedback[i].speedup);
    EXPECT_EQ(a.feedback[i].evidence, b.feedback[i].evidence);
  }
}

std::string block(std::string_view json) {
  return "```specgen-context\n" + std::string(json) + "\n```\n";
}

std::string error_of(std::string_view prompt) {
  auto found = find_prompt_context(prompt);
  return found ? std::string() : found.error().context;
}

TEST(PromptContext, a_written_block_is_read_again_whatever_the_sources_contain) {
  std::string prompt = "Prose.\n\n" + to_prompt_block(full_context()) + "\nMore prose.";
  auto found = find_prompt_context(prompt);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_TRUE(*found);
  expect_equal(**found, full_context());
}

TEST(PromptContext, language_models_get_a_block_without_sources) {
  std::string prompt = "Prose.\n\n" + to_prompt_block(full_context()) + "\nMore prose.";
  PromptContext brief = full_context();
  brief.baseline = brief.parent_source = brief.advice = "";
  for (PromptFeedback& each : brief.feedback) each.source = each.evidence = "";
  EXPECT_EQ(prompt_for_language_models(prompt),
            "Prose.\n\n" + to_prompt_block(brief) + "\nMore prose.");
  for (std::string_view other : {"No block.", "```specgen-context\n{}\n```\n", ""}) {
    EXPECT_EQ(prompt_for_language_models(other), other);
  }
}

TEST(PromptContext, a_prompt_without_a_block_has_none) {
  auto found = find_prompt_context("Say ```specgen-context in the middle of a line.");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(PromptContext, the_last_block_counts) {
  std::string prompt = block(R"({"task": "gelu", "backend": "cpu"})") + "And now:\n" +
                       block(R"({"task": "softmax", "backend": "cpu"})");
  EXPECT_EQ(find_prompt_context(prompt).value()->task, "softmax");
}

TEST(PromptContext, missing_members_have_their_defaults) {
  PromptContext context =
      *find_prompt_context(block(R"({"task": "gelu", "backend": "cpu"})")).value();
  expect_equal(context, {.task = "gelu", .backend = "cpu"});
}

TEST(PromptContext, a_damaged_block_is_an_error_that_names_the_place) {
  EXPECT_EQ(error_of("```specgen-context\n{}"), "specgen-context: the block is not closed");
  EXPECT_NE(error_of(block("{")), "");
  EXPECT_EQ(error_of(block("[]")), "specgen-context: the context is not an object");
  EXPECT_EQ(error_of(block(R"({"backend": "cpu"})")), "specgen-context: 'task' is missing");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "tpu"})")),
            "specgen-context: 'backend' of the context is not cpu or cuda");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "rolle": ""})")),
            "specgen-context: the context has no member 'rolle'; did you mean 'role'?");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "role": "writter"})")),
            "specgen-context: there is no role 'writter'; did you mean 'writer'?; roles are "
            "writer, repair, diff, mend, judge, bottleneck, reflexion");
  EXPECT_EQ(error_of(block(R"({"task": 1, "backend": "cpu"})")),
            "specgen-context: 'task' of the context is not a text");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "seed": -1})")),
            "specgen-context: 'seed' of the context is not an integer");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "iteration": 1.5})")),
            "specgen-context: 'iteration' of the context is not an integer");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "feedback": [{"verdict": 1}]})")),
            "specgen-context: 'verdict' of feedback[0] is not a text");
  EXPECT_EQ(error_of(block(R"({"task": "a", "backend": "cpu", "feedback": [{}]})")),
            "specgen-context: 'verdict' of feedback[0] is not a verdict");
}

}  // namespace
}  // namespace specgen
