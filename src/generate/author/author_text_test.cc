#include "generate/author/author_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "generate/answer/extract.h"
#include "generate/author/author_kernel.h"
#include "generate/author/kernel_plan.h"
#include "generate/prompt_context.h"

namespace specgen {
namespace {

const KernelPlan& softmax_plan() {
  return *find_plan("softmax", "cpu");
}

PromptContext softmax_context(std::uint64_t seed) {
  return {.task = "softmax", .backend = "cpu", .seed = seed};
}

Request request_for(const PromptContext& context, Mode mode = Mode::reason) {
  Request request;
  request.messages = {{Speaker::system, "You write kernels."},
                      {Speaker::user, "Make it fast.\n\n" + to_prompt_block(context)}};
  request.mode = mode;
  return request;
}

Request fork_of(Request request, std::string_view reasoning) {
  request.mode = Mode::answer;
  request.prefix = ReasoningPrefix{.text = std::string(reasoning), .token_ids = {}};
  return request;
}

AuthorText text_of(const Request& request, int choice = 0, AuthorOptions options = {}) {
  return author_text(options, request, choice).value();
}

std::string kernel_in(const std::string& answer, std::string_view start = {}) {
  auto found = extract_kernel({.text = answer,
                               .finish = FinishReason::stop,
                               .backend = "cpu",
                               .parent = std::nullopt,
                               .answer_start = start});
  return found ? found->source : "no kernel: " + found.error().explanation;
}

Json json_in(const std::string& answer) {
  std::size_t begin = answer.find("```json\n") + 8, end = answer.find("\n```", begin);
  return parse_json(std::string_view(answer).substr(begin, end - begin)).value();
}

TEST(AuthorText, reasons_and_then_writes_the_kernel_of_its_decisions) {
  AuthorOptions careful;
  careful.mistake_rate = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    AuthorText text = text_of(request_for(softmax_context(seed)), 0, careful);
    Decisions made = read_conclusions(softmax_plan(), text.reasoning).made;
    EXPECT_EQ(made.size(), softmax_plan().decisions().size());
    EXPECT_EQ(kernel_in(text.content), softmax_plan().write(made));
  }
}

TEST(AuthorText, a_fork_yields_the_kernel_of_the_decisions_in_its_prefix) {
  AuthorOptions careful;
  careful.mistake_rate = 0;
  Random random(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Request main = request_for(softmax_context(seed));
    std::string reasoning = text_of(main, 0, careful).reasoning;
    for (int i = 0; i < 10; ++i) {
      std::string prefix = reasoning.substr(0, random.below(reasoning.size() + 1));
      AuthorText fork = text_of(fork_of(main, prefix), 0, careful);
      EXPECT_EQ(fork.reasoning, "");
      EXPECT_EQ(kernel_in(fork.content),
                softmax_plan().write(read_conclusions(softmax_plan(), prefix).made));
    }
  }
}

TEST(AuthorText, a_fork_from_all_reasoning_is_the_answer_itself) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Request main = request_for(softmax_context(seed));
    AuthorText text = text_of(main);
    EXPECT_EQ(text_of(fork_of(main, text.reasoning)).content, text.content);
  }
}

TEST(AuthorText, cut_reasoning_continues_at_the_cut) {
  Request main = request_for(softmax_context(5));
  AuthorText text = text_of(main);
  Request cut = main;
  cut.prefix = ReasoningPrefix{.text = text.reasoning.substr(0, 1000), .token_ids = {}};
  AuthorText rest = text_of(cut);
  EXPECT_EQ(rest.reasoning, text.reasoning.substr(1000));
  EXPECT_EQ(rest.content, text.content);
}

TEST(AuthorText, a_trace_quoted_in_a_separate_turn_counts_as_reasoning) {
  AuthorOptions careful;
  careful.mistake_rate = 0;
  Request request = request_for(softmax_context(1));
  request.messages.push_back({Speaker::user, "<notes>\nI'll take `width = 8`.\n</notes>\nAnswer."});
  AuthorText text = text_of(request, 0, careful);
  EXPECT_EQ(text.reasoning, "");
  EXPECT_EQ(kernel_in(text.content), softmax_plan().write({{"width", "8"}}));
}

TEST(AuthorText, a_started_answer_is_continued) {
  Request fork = fork_of(request_for(softmax_context(1)), "I'll take `width = 8`.");
  std::string whole = kernel_in(text_of(fork).content);
  fork.answer_start = "```cpp\n";
  AuthorText text = text_of(fork);
  EXPECT_TRUE(text.content.starts_with("// author: ")) << text.content.substr(0, 50);
  EXPECT_EQ(kernel_in(text.content, fork.answer_start), whole);
}

// The share of correct kernels among `count` answers, of main generations or of forks at random cuts.
double share_right(double mistake_rate, bool forks, int count) {
  AuthorOptions options;
  options.mistake_rate = mistake_rate;
  options.trace_median = 200;
  Random random(11);
  int right = 0;
  for (int i = 0; i < count; ++i) {
    Request main = request_for(softmax_context(static_cast<std::uint64_t>(i)));
    AuthorText text = text_of(main, i % 3, options);
    if (forks) {
      std::string_view prefix = text.reasoning;
      text = text_of(fork_of(main, prefix.substr(0, random.below(prefix.size()))), i % 3, options);
    }
    right += mistake_in(softmax_plan(), kernel_in(text.content)) == "";
  }
  return static_cast<double>(right) / count;
}

TEST(AuthorText, is_correct_at_the_configured_rate_at_every_cut) {
  for (bool forks : {false, true}) {
    EXPECT_NEAR(share_right(AuthorOptions{}.mistake_rate, forks, 500), 0.425, 0.06) << forks;
    EXPECT_NEAR(share_right(0.2, forks, 300), 0.8, 0.06) << forks;
  }
  EXPECT_EQ(share_right(0, false, 30), 1);
  EXPECT_EQ(share_right(1, true, 30), 0);
}

TEST(AuthorText, a_repair_keeps_the_decisions_and_is_correct_more_often) {
  int right = 0, total = 200;
  for (int i = 0; i < total; ++i) {
    Decisions made{{"width", "8"}, {"exp", "polynomial"}};
    PromptContext context = softmax_context(static_cast<std::uint64_t>(i));
    context.role = "repair";
    context.parent_source = softmax_plan().write(made, "missing_tail");
    context.feedback = {{context.parent_source, "wrong", 0, "element 1000 is 0"}};
    std::string kernel = kernel_in(text_of(request_for(context)).content);
    EXPECT_EQ(decisions_in(kernel), decisions_in(context.parent_source));
    right += mistake_in(softmax_plan(), kernel) == "";
  }
  EXPECT_GT(right, total * 6 / 10);
}

TEST(AuthorText, a_diff_applied_to_the_parent_gives_a_kernel_by_the_author) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    PromptContext context = softmax_context(seed);
    context.role = "diff";
    context.parent_source = softmax_plan().write({{"width", "8"}});
    AuthorText text = text_of(request_for(context));
    auto found = extract_kernel({.text = text.content,
                                 .finish = FinishReason::stop,
                                 .backend = "cpu",
                                 .parent = context.parent_source,
                                 .answer_start = {}});
    ASSERT_TRUE(found) << found.error().explanation << "\n" << text.content;
    EXPECT_TRUE(mistake_in(softmax_plan(), found->source));
    changed += found->form == KernelForm::diff;
  }
  EXPECT_GT(changed, 25);
}

TEST(AuthorText, a_judge_names_the_mistake_of_a_failed_kernel) {
  PromptContext context = softmax_context(1);
  context.role = "judge";
  context.parent_source = softmax_plan().write({{"width", "8"}}, "missing_tail");
  context.feedback = {{context.parent_source, "wrong", 0, "element 1000 is 0"}};
  AuthorText text = text_of(request_for(context));
  Json json = json_in(text.content);
  auto mistake = std::ranges::find(softmax_plan().mistakes(), "missing_tail", &Mistake::name);
  EXPECT_TRUE(text_at(json, "critical_issue").contains(mistake->belief));
  EXPECT_FALSE(text_at(json, "minimal_fix_hint").empty());
  EXPECT_FALSE(text.reasoning.empty());
}

TEST(AuthorText, a_writer_follows_the_plan_of_a_judge) {
  AuthorOptions careful;
  careful.mistake_rate = 0;
  PromptContext context = softmax_context(1);
  context.parent_source = softmax_plan().write({{"width", "8"}});
  context.feedback = {{context.parent_source, "ok", 1.5, "limited by compute"}};
  context.role = "judge";
  Json json = json_in(text_of(request_for(context), 0, careful).content);
  EXPECT_FALSE(text_at(json, "bottleneck").empty());
  auto advised = mentioned(softmax_plan(), text_at(json, "modification plan"));
  ASSERT_EQ(advised.size(), 1U);

  context.role = "writer";
  context.advice = compact_json(json);
  Decisions made = decisions_in(kernel_in(text_of(request_for(context), 0, careful).content));
  EXPECT_EQ(made[advised[0].first], advised[0].second);
}

TEST(AuthorText, bottlenecks_and_reflexions_have_their_json_keys) {
  PromptContext context = softmax_context(1);
  context.parent_source = softmax_plan().write({{"width", "8"}});
  context.feedback = {{softmax_plan().write({}), "ok", 1.0, "limited by memory"},
                      {context.parent_source, "ok", 1.5, "limited by memory"}};
  context.role = "bottleneck";
  Json found = json_in(text_of(request_for(context)).content);
  EXPECT_EQ(text_at(found.at("bottlenecks").at(0), "category"), "memory");
  context.role = "reflexion";
  Json looked_back = json_in(text_of(request_for(context)).content);
  EXPECT_TRUE(flag_at(looked_back, "was_fix_effective"));
  EXPECT_EQ(looked_back.at("lessons").at(0).get_string(),
            "`width = 8` went with the faster kernels");
  EXPECT_EQ(looked_back.at("avoid_patterns").at(0).get_string(), "`width = 1`");
}

TEST(AuthorText, for_a_task_without_a_plan_the_source_is_returned_unchanged) {
  PromptContext context{.task = "tensor_train", .backend = "cpu", .baseline = "void f() {}"};
  AuthorText text = text_of(request_for(context));
  EXPECT_TRUE(text.reasoning.contains("no plan for tensor_train"));
  EXPECT_TRUE(text.content.contains("```cpp\nvoid f() {}\n```"));
  context.parent_source = "void g() {}\n";
  EXPECT_TRUE(text_of(request_for(context)).content.contains("```cpp\nvoid g() {}\n```"));
}

TEST(AuthorText, a_prompt_for_a_task_without_a_plan_is_detected) {
  EXPECT_TRUE(check_has_plan(request_for({.task = "softmax", .backend = "cpu"})));
  EXPECT_TRUE(check_has_plan(request_for({.task = "softmax:f16", .backend = "cuda"})));
  Error error = check_has_plan(request_for({.task = "tensor_train", .backend = "cpu"})).error();
  EXPECT_TRUE(error.context.contains("no plan for task 'tensor_train' on backend 'cpu'"));
  EXPECT_TRUE(error.what_to_do().contains("language model"));
  EXPECT_FALSE(check_has_plan(request_for({.task = "cumsum", .backend = "cuda"})))
      << "there is a plan for the CPU only";
  Request prose;
  prose.messages = {{Speaker::user, "Hello!"}};
  EXPECT_TRUE(check_has_plan(prose)) << "no task is named";
}

TEST(AuthorText, a_prompt_in_prose_may_name_a_task) {
  Request request;
  request.messages = {{Speaker::user, "Write me a fast softmax, please."}};
  EXPECT_TRUE(text_of(request).content.contains("// author: "));
  request.messages = {{Speaker::user, "Hello!"}};
  EXPECT_TRUE(text_of(request).content.contains("not a language model"));
}

TEST(AuthorText, a_damaged_context_is_an_error) {
  Request request;
  request.messages = {{Speaker::user, "```specgen-context\n{\"task\": 1}\n```\n"}};
  EXPECT_EQ(author_text({}, request, 0).error().code, ErrorCode::bad_json);
}

}  // namespace
}  // namespace specgen
