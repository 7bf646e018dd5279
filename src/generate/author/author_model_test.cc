#include "generate/author/author_model.h"

#include <gtest/gtest.h>

#include "generate/author/author_text.h"
#include "generate/author/tokens.h"
#include "generate/prompt_context.h"
#include "runtime/race.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Request softmax_request() {
  Request request;
  request.messages = {
      {Speaker::user, to_prompt_block({.task = "softmax", .backend = "cpu", .seed = 3})}};
  request.purpose = "main";
  return request;
}

struct Followed {
  std::vector<AuthorText> texts;
  std::size_t deltas = 0;
  Ended ended;
  std::optional<Error> error;
};

Task<Followed> follow(Model& model, Request request) {
  Followed followed;
  followed.texts.resize(static_cast<std::size_t>(request.count));
  auto generation = co_await model.start(std::move(request));
  if (!generation) {
    followed.error = generation.error();
    co_return followed;
  }
  while (true) {
    auto event = co_await (*generation)->next();
    if (!event) {
      followed.error = event.error();
      co_return followed;
    }
    if (auto* delta = std::get_if<Delta>(&*event)) {
      ++followed.deltas;
      AuthorText& text = followed.texts[static_cast<std::size_t>(delta->choice)];
      (delta->kind == DeltaKind::reasoning ? text.reasoning : text.content) += delta->text;
    } else if (auto* ended = std::get_if<Ended>(&*event)) {
      followed.ended = *ended;
      co_return followed;
    }
  }
}

TEST(AuthorModel, streams_its_text_in_many_deltas_and_counts_tokens) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, {});
  Request request = softmax_request();
  AuthorText expected = author_text({}, request, 0).value();
  Followed followed = runtime.loop.run(follow(model, request));
  EXPECT_EQ(followed.texts[0].reasoning, expected.reasoning);
  EXPECT_EQ(followed.texts[0].content, expected.content);
  EXPECT_GT(followed.deltas, 100U);
  const Usage& usage = followed.ended.usage;
  EXPECT_EQ(usage.reasoning_tokens, count_author_tokens(expected.reasoning));
  EXPECT_EQ(usage.completion_tokens,
            usage.reasoning_tokens + count_author_tokens(expected.content));
  EXPECT_EQ(usage.prompt_tokens, count_author_tokens(request.messages[0].text));
  EXPECT_FALSE(usage.estimated);
  EXPECT_FALSE(model.info().is_language_model);
}

TEST(AuthorModel, takes_the_time_of_its_pace) {
  VirtualRuntime runtime;
  AuthorOptions options = author_at_pace("paper").value();
  AuthorModel model(runtime.loop, options);
  Followed followed = runtime.loop.run(follow(model, softmax_request()));
  double tokens = static_cast<double>(followed.ended.usage.completion_tokens);
  double took = seconds(runtime.loop.now() - at(0s));
  EXPECT_NEAR(took, 0.5 + tokens / 60, 0.001);
  EXPECT_GT(took, 60);
}

TEST(AuthorModel, charges_the_prompt_as_a_language_model_would) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, {});
  Request brief = softmax_request(), full = brief;
  full.messages[0].text = to_prompt_block(
      {.task = "softmax", .backend = "cpu", .baseline = "// in the prose, too", .seed = 3});
  auto paid = [&](const Request& request) {
    return runtime.loop.run(follow(model, request)).ended.usage.prompt_tokens;
  };
  EXPECT_EQ(paid(full), paid(brief));
}

TEST(AuthorModel, does_not_wait_at_the_instant_pace) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, author_at_pace("instant").value());
  Followed followed = runtime.loop.run(follow(model, softmax_request()));
  EXPECT_FALSE(followed.texts[0].content.empty());
  EXPECT_EQ(runtime.loop.now(), at(0s));
}

TEST(AuthorModel, several_answers_are_streamed_concurrently) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, {});
  Request request = softmax_request();
  request.count = 3;
  Followed followed = runtime.loop.run(follow(model, request));
  double longest = 0;
  for (int i = 0; i < 3; ++i) {
    AuthorText expected = author_text({}, request, i).value();
    EXPECT_EQ(followed.texts[static_cast<std::size_t>(i)].content, expected.content);
    longest = std::max(longest, static_cast<double>(count_author_tokens(expected.reasoning) +
                                                    count_author_tokens(expected.content)));
  }
  EXPECT_NE(followed.texts[0].reasoning, followed.texts[1].reasoning);
  EXPECT_EQ(followed.ended.reasons.size(), 3U);
  EXPECT_NEAR(seconds(runtime.loop.now() - at(0s)), longest / 2000, 0.001);
}

TEST(AuthorModel, a_limit_on_tokens_cuts_reasoning_and_answer_together) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, author_at_pace("instant").value());
  Request request = softmax_request();
  request.max_tokens = 100;
  Followed followed = runtime.loop.run(follow(model, request));
  EXPECT_EQ(followed.ended.usage.completion_tokens, 100);
  EXPECT_EQ(followed.ended.reasons[0], FinishReason::length);
  EXPECT_EQ(followed.texts[0].content, "");
}

TEST(AuthorModel, a_stop_ends_the_answer_before_it) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, author_at_pace("instant").value());
  Request request = softmax_request();
  request.mode = Mode::answer;
  request.answer_start = "```cpp\n";
  request.stop = {"\n```"};
  Followed followed = runtime.loop.run(follow(model, request));
  EXPECT_FALSE(followed.texts[0].content.contains("```"));
  EXPECT_EQ(followed.ended.reasons[0], FinishReason::stop);
}

TEST(AuthorModel, the_total_timeout_ends_a_slow_answer) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, author_at_pace("10").value());
  Request request = softmax_request();
  request.total_timeout = 20s;
  Followed followed = runtime.loop.run(follow(model, request));
  EXPECT_EQ(followed.error->code, ErrorCode::timeout);
  EXPECT_EQ(runtime.loop.now(), at(20s));
}

Task<std::string> follow_with_interruptions(Loop& loop, Model& model, Request request) {
  auto generation = (co_await model.start(std::move(request))).value();
  std::string text;
  while (true) {
    auto raced = co_await race(generation->next(), loop.sleep(3ms));  // often lost
    if (!raced.first()) continue;
    StreamEvent event = raced.first()->value();
    if (auto* delta = std::get_if<Delta>(&event)) text += delta->text;
    if (std::get_if<Ended>(&event)) co_return text;
  }
}

TEST(AuthorModel, nothing_is_lost_when_next_is_cancelled) {
  VirtualRuntime runtime;
  AuthorModel model(runtime.loop, author_at_pace("1000").value());
  AuthorText expected = author_text(author_at_pace("1000").value(), softmax_request(), 0).value();
  EXPECT_EQ(runtime.loop.run(follow_with_interruptions(runtime.loop, model, softmax_request())),
            expected.reasoning + expected.content);
}

Task<void> drop_early(Loop& loop, Model& model, Request request) {
  auto generation = (co_await model.start(std::move(request))).value();
  for (int i = 0; i < 10; ++i) (void)co_await generation->next();
  co_await loop.yield();
}

TEST(AuthorModel, the_ledger_has_a_row_for_every_call_cancelled_or_not) {
  VirtualRuntime runtime;
  CallLedger ledger;
  AuthorModel model(runtime.loop, {}, &ledger);
  Followed followed = runtime.loop.run(follow(model, softmax_request()));
  runtime.loop.run(drop_early(runtime.loop, model, softmax_request()));
  ASSERT_EQ(ledger.records().size(), 2U);
  const CallRecord& whole = ledger.records()[0];
  EXPECT_EQ(whole.outcome, CallOutcome::ended);
  EXPECT_EQ(whole.purpose, "main");
  EXPECT_EQ(whole.usage.completion_tokens, followed.ended.usage.completion_tokens);
  const CallRecord& cut = ledger.records()[1];
  EXPECT_EQ(cut.outcome, CallOutcome::cancelled);
  EXPECT_EQ(cut.usage.completion_tokens, count_author_tokens(cut.evidence));
  EXPECT_GT(cut.usage.completion_tokens, 0);
}

TEST(AuthorPace, is_a_name_or_a_number) {
  EXPECT_EQ(author_at_pace("250").value().tokens_per_second, 250);
  EXPECT_EQ(author_at_pace("").value().tokens_per_second, AuthorOptions{}.tokens_per_second);
  AuthorOptions other = author_at_pace("150,slack=0,mistakes=0.5,tokens=6000").value();
  EXPECT_EQ(other.tokens_per_second, 150);
  EXPECT_EQ(other.slack, 0);
  EXPECT_EQ(other.mistake_rate, 0.5);
  EXPECT_EQ(other.trace_median, 6000);
  for (const char* bad : {"slow", "-1", "0", "12x", "nan", "inf", "250,", "250,slack",
                          "250,slack=2", "250,mistake=0.5", "slack=0.5"}) {
    EXPECT_EQ(author_at_pace(bad).error().code, ErrorCode::bad_usage) << bad;
  }
}

}  // namespace
}  // namespace specgen
