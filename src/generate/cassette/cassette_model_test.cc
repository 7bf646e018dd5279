#include "generate/cassette/cassette_model.h"

#include <gtest/gtest.h>

#include "generate/cassette/cassette_for_tests.h"
#include "runtime/race.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

const std::string kPrompt =
    R"({"stream":true,"messages":[{"role":"user","content":"Make it fast."}]})";
const std::string kFork =
    R"({"stream":true,"messages":[{"role":"user","content":"Make it fast."},)"
    R"({"role":"assistant","reasoning_content":"A tile of 64.","content":"```cpp\n"}]})";

Request main_request() {
  Request request;
  request.messages = {{Speaker::user, "Make it fast."}};
  request.purpose = "main";
  return request;
}

Request fork_request(std::string prefix) {
  Request request = main_request();
  request.mode = Mode::answer;
  request.prefix = ReasoningPrefix{std::move(prefix), {}};
  request.answer_start = "```cpp\n";
  request.purpose = "fork";
  return request;
}

std::vector<RecordedExchange> conversation() {
  return {
      exchange_of(1, kPrompt,
                  {{2s, chat_chunk("reasoning_content", "A tile of 64. ")},
                   {10s, chat_chunk("reasoning_content", "Or 128?")},
                   {40s, chat_chunk("content", "final")},
                   {41s, last_chunks(11, 22)}}),
      exchange_of(2, kFork,
                  {{100ms, chat_chunk("content", "```c") + chat_chunk("content", "pp\\nint x;")},
                   {300ms, last_chunks(15, 4)}})};
}

struct Fixture : VirtualRuntime {
  CallLedger ledger;

  std::unique_ptr<Model> model(std::vector<RecordedExchange> exchanges = conversation(),
                               Pace pace = {}) {
    Cassette cassette;
    cassette.name = "a";
    cassette.exchanges = std::move(exchanges);
    return cassette_model(loop, ledger, std::move(cassette), pace);
  }
};

struct Heard {
  std::string reasoning, content;
  std::vector<Duration> times;
  std::optional<Ended> ended;
  std::optional<Error> error;
};

Task<Result<Heard>> hear(Fixture& fixture, Model& model, Request request) {
  Time began = fixture.loop.now();
  auto generation = CO_TRY(co_await model.start(std::move(request)));
  Heard heard;
  while (!heard.ended && !heard.error) {
    auto event = co_await generation->next();
    heard.times.push_back(fixture.loop.now() - began);
    if (!event) {
      heard.error = event.error();
    } else if (auto* delta = std::get_if<Delta>(&*event)) {
      (delta->kind == DeltaKind::reasoning ? heard.reasoning : heard.content) += delta->text;
    } else if (auto* ended = std::get_if<Ended>(&*event)) {
      heard.ended = *ended;
    }
  }
  co_return heard;
}

Heard last_event_by(Fixture& fixture, Model& model, Request request) {
  auto heard = fixture.loop.run(hear(fixture, model, std::move(request)));
  EXPECT_TRUE(heard) << heard.error().text();
  return heard ? *heard : Heard{};
}

TEST(CassetteModel, plays_a_conversation_at_its_original_speed) {
  Fixture fixture;
  auto model = fixture.model();
  Heard heard = last_event_by(fixture, *model, main_request());
  EXPECT_EQ(heard.reasoning, "A tile of 64. Or 128?");
  EXPECT_EQ(heard.content, "final");
  EXPECT_EQ(heard.times, (std::vector<Duration>{2s, 10s, 40s, 41s}));
  ASSERT_TRUE(heard.ended);
  EXPECT_EQ(heard.ended->usage.prompt_tokens, 11);
  EXPECT_EQ(heard.ended->usage.completion_tokens, 22);
  EXPECT_FALSE(heard.ended->usage.estimated);
  EXPECT_EQ(heard.ended->note, "");
  ASSERT_EQ(fixture.ledger.records().size(), 1u);
  const CallRecord& row = fixture.ledger.records()[0];
  EXPECT_EQ(row.outcome, CallOutcome::ended);
  EXPECT_EQ(row.model, "cassette:a");
  EXPECT_EQ(row.purpose, "main");
  EXPECT_EQ(row.ended, at(41s));
}

TEST(CassetteModel, plays_at_the_given_pace) {
  Fixture fixture;
  EXPECT_EQ(
      last_event_by(fixture, *fixture.model(conversation(), {.speed = 10}), main_request()).times,
      (std::vector<Duration>{200ms, 1s, 4s, 4100ms}));
  Heard at_once =
      last_event_by(fixture, *fixture.model(conversation(), {.instant = true}), main_request());
  EXPECT_EQ(at_once.times, (std::vector<Duration>(4, 0s)));
  EXPECT_EQ(at_once.content, "final");
}

TEST(CassetteModel, a_recorded_fork_is_exact_and_begins_after_the_answer_s_start) {
  Fixture fixture;
  auto model = fixture.model();
  Heard heard = last_event_by(fixture, *model, fork_request("A tile of 64. "));
  EXPECT_EQ(heard.content, "int x;");
  EXPECT_EQ(heard.ended->note, "");
}

TEST(CassetteModel, a_fork_in_between_is_answered_from_the_cut_before_it_and_marked) {
  Fixture fixture;
  auto model = fixture.model();
  Heard heard = last_event_by(fixture, *model, fork_request("A tile of 64. Or 12"));
  EXPECT_EQ(heard.content, "int x;");
  ASSERT_TRUE(heard.ended);
  EXPECT_NE(heard.ended->note.find("nearest recorded fork, exchange 2"), std::string::npos);
  EXPECT_EQ(fixture.ledger.records()[0].note, heard.ended->note);
}

TEST(CassetteModel, several_answers_come_from_several_recordings) {
  Fixture fixture;
  auto exchanges = conversation();
  exchanges.push_back(exchange_of(
      3, kFork, {{200ms, chat_chunk("content", "int y;")}, {250ms, last_chunks(15, 3)}}));
  auto model = fixture.model(exchanges);
  Request request = fork_request("A tile of 64.");
  request.count = 2;
  Heard heard = last_event_by(fixture, *model, std::move(request));
  EXPECT_EQ(heard.content, "int x;int y;");
  EXPECT_EQ(heard.times, (std::vector<Duration>{100ms, 200ms, 300ms}));
  ASSERT_TRUE(heard.ended);
  EXPECT_EQ(heard.ended->reasons.size(), 2u);
  EXPECT_EQ(heard.ended->usage.completion_tokens, 7);
  EXPECT_EQ(fixture.ledger.records().size(), 1u);
}

TEST(CassetteModel, a_fork_from_all_reasoning_gets_only_the_recorded_answer) {
  Fixture fixture;
  auto model = fixture.model();
  Heard heard = last_event_by(fixture, *model, fork_request("A tile of 64. Or 128?"));
  EXPECT_EQ(heard.reasoning, "");
  EXPECT_EQ(heard.content, "final");
  EXPECT_EQ(heard.times, (std::vector<Duration>{30s, 31s}));
}

TEST(CassetteModel, a_request_that_was_not_recorded_has_no_ledger_row) {
  Fixture fixture;
  auto model = fixture.model();
  Request request = main_request();
  request.messages[0].text = "Something else.";
  auto heard = fixture.loop.run(hear(fixture, *model, std::move(request)));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::not_recorded);
  EXPECT_TRUE(fixture.ledger.records().empty());
}

TEST(CassetteModel, a_cancelled_recording_ends_in_an_error) {
  Fixture fixture;
  auto exchanges = conversation();
  exchanges[0].pieces.resize(2);
  exchanges[0].end = ExchangeEnd::cancelled;
  exchanges[0].end_after = 12s;
  auto model = fixture.model(exchanges);
  Heard heard = last_event_by(fixture, *model, main_request());
  EXPECT_EQ(heard.reasoning, "A tile of 64. Or 128?");
  ASSERT_TRUE(heard.error);
  EXPECT_EQ(heard.error->code, ErrorCode::not_recorded);
  EXPECT_EQ(heard.times.back(), 12s);
  EXPECT_EQ(fixture.ledger.records()[0].outcome, CallOutcome::failed);
  EXPECT_EQ(fixture.ledger.records()[0].evidence, heard.reasoning);
}

TEST(CassetteModel, a_pause_over_the_idle_timeout_is_an_error) {
  Fixture fixture;
  auto model = fixture.model();
  Request request = main_request();
  request.idle_timeout = 20s;
  Heard heard = last_event_by(fixture, *model, std::move(request));
  ASSERT_TRUE(heard.error);
  EXPECT_EQ(heard.error->code, ErrorCode::model_silent);
  EXPECT_EQ(heard.times.back(), 30s);
}

Task<Result<int>> hear_until(Fixture& fixture, Model& model, Duration limit) {
  auto generation = CO_TRY(co_await model.start(main_request()));
  int events = 0;
  Time end = fixture.loop.now() + limit;
  while (true) {
    auto event = co_await race(generation->next(), fixture.loop.sleep_until(end));
    if (event.second()) co_return events;
    ++events;
  }
}

TEST(CassetteModel, destroying_it_cancels_the_call_and_its_row_says_so) {
  Fixture fixture;
  auto model = fixture.model();
  EXPECT_EQ(fixture.loop.run(hear_until(fixture, *model, 5s)).value(), 1);
  ASSERT_EQ(fixture.ledger.records().size(), 1u);
  const CallRecord& row = fixture.ledger.records()[0];
  EXPECT_EQ(row.outcome, CallOutcome::cancelled);
  EXPECT_EQ(row.ended, at(5s));
  EXPECT_EQ(row.evidence, "A tile of 64. ");
  EXPECT_TRUE(row.usage.estimated);
  EXPECT_GT(row.usage.completion_tokens, 0);
}

Task<std::string> hear_with_impatience(Fixture& fixture, Model& model) {
  auto generation = co_await model.start(main_request());
  std::string text;
  while (true) {
    auto event = co_await race((*generation)->next(), fixture.loop.sleep(700ms));
    if (event.second()) continue;
    if (auto* delta = std::get_if<Delta>(&**event.first())) text += delta->text;
    if (std::holds_alternative<Ended>(**event.first())) co_return text;
  }
}

TEST(CassetteModel, cancelled_waits_for_events_lose_nothing) {
  Fixture fixture;
  auto model = fixture.model();
  EXPECT_EQ(fixture.loop.run(hear_with_impatience(fixture, *model)), "A tile of 64. Or 128?final");
  EXPECT_EQ(fixture.loop.now(), at(41s));
}

TEST(CassetteModel, the_same_seed_takes_the_same_steps) {
  auto trace = [] {
    Fixture fixture;
    auto model = fixture.model();
    fixture.loop.run(hear_with_impatience(fixture, *model));
    return fixture.loop.trace_hash();
  };
  EXPECT_EQ(trace(), trace());
}

TEST(CassetteModel, a_body_without_a_stream_is_an_answer_too) {
  Fixture fixture;
  RecordedExchange exchange = exchange_of(
      1, R"({"messages":[{"role":"user","content":"Make it fast."}]})",
      {{5s, R"({"choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Hm.",)"
            R"("content":"done"},"finish_reason":"length"}],)"
            R"("usage":{"prompt_tokens":3,"completion_tokens":4}})"}});
  exchange.head->headers = {{"content-type", "application/json"}};
  Heard heard = last_event_by(fixture, *fixture.model({exchange}), main_request());
  EXPECT_EQ(heard.reasoning, "Hm.");
  EXPECT_EQ(heard.content, "done");
  ASSERT_TRUE(heard.ended);
  EXPECT_EQ(heard.ended->reasons, std::vector{FinishReason::length});
  EXPECT_EQ(heard.ended->usage.completion_tokens, 4);
}

TEST(Pace, is_parsed) {
  EXPECT_EQ(parse_pace("original")->of(3s), 3s);
  EXPECT_EQ(parse_pace("instant")->of(3s), 0s);
  EXPECT_EQ(parse_pace("10x")->of(3s), 300ms);
  EXPECT_EQ(parse_pace("0.5x")->of(3s), 6s);
  for (const char* wrong : {"", "10", "x", "0x", "-1x", "nanx", "infx", "fast", "1e9x", "10xx"}) {
    auto pace = parse_pace(wrong);
    ASSERT_FALSE(pace) << wrong;
    EXPECT_EQ(pace.error().exit_code(), ExitCode::usage);
  }
}

}  // namespace
}  // namespace specgen
