// The client in virtual time: retries, limits and the gate take no real time.

#include "generate/openai/openai_model.h"

#include <gtest/gtest.h>

#include "generate/openai/fake_http_client.h"
#include "runtime/race.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

const std::string kWhole =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1}}\n\n"
    "data: [DONE]\n\n";

FakeAnswer whole() {
  FakeAnswer answer;
  answer.pieces = {{Duration::zero(), kWhole}};
  return answer;
}
FakeAnswer status(int code, HttpHeaders headers = {}) {
  FakeAnswer answer;
  answer.head = {.status = code, .headers = std::move(headers)};
  return answer;
}
FakeAnswer unreachable() {
  FakeAnswer answer;
  answer.refuses = true;
  answer.breaks = Error{ErrorCode::endpoint_unreachable, "refused", {}};
  return answer;
}
FakeAnswer keepalives(int count) {
  FakeAnswer answer;
  for (int i = 0; i < count; ++i) answer.pieces.push_back({10s, ": alive\n\n"});
  return answer;
}

struct VirtualServer {
  explicit VirtualServer(std::uint64_t seed = 1, GateOptions gate_options = {},
                         std::string_view url = "http://h/v1")
      : runtime(seed) {
    auto client = std::make_unique<FakeHttpClient>(runtime.loop);
    http = client.get();
    gate = std::make_shared<EndpointGate>(runtime.loop, gate_options);
    OpenAiOptions options;
    options.name = "m";
    options.wire.url = parse_endpoint_url(url).value();
    options.key = "sesame";
    options.warm_connections = 3;
    options.wire.model = "m";
    options.wire.profile = find_profile("generic").value();
    options.wire.family = &family_of("m");
    model = std::make_unique<OpenAiModel>(runtime.loop, std::move(client), gate, ledger,
                                          std::move(options));
  }
  Result<Answer> ask() {
    Request request;
    request.messages = {{Speaker::user, "hello"}};
    return runtime.loop.run(specgen::ask(*model, std::move(request)));
  }

  VirtualRuntime runtime;
  CallLedger ledger;
  FakeHttpClient* http = nullptr;
  std::shared_ptr<EndpointGate> gate;
  std::unique_ptr<OpenAiModel> model;
};

TEST(OpenAiModel, retries_with_growing_waits) {
  VirtualServer server;
  server.http->answers = {unreachable(), status(500), unreachable(), whole()};
  auto answer = server.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->content, "hi");
  ASSERT_EQ(server.http->sent_at.size(), 4U);
  Duration first = server.http->sent_at[1] - server.http->sent_at[0];
  Duration last = server.http->sent_at[3] - server.http->sent_at[2];
  EXPECT_GE(first, 250ms);
  EXPECT_LE(first, 500ms);
  EXPECT_GE(last, 1s);
  EXPECT_LE(last, 2s);
  EXPECT_EQ(server.ledger.totals().calls, 4);
}

FakeAnswer reasoning_for(int seconds) {
  FakeAnswer answer;
  for (int i = 0; i < seconds; ++i) {
    answer.pieces.push_back(
        {1s, "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\"}}]}\n\n"});
  }
  answer.pieces.push_back({1s, kWhole});
  return answer;
}

TEST(OpenAiModel, keeps_connections_warm_while_it_may_be_forked) {
  VirtualServer server;
  server.http->answers = {reasoning_for(9)};
  ASSERT_TRUE(server.ask());
  ASSERT_EQ(server.http->warmed.size(),
            3U);  // with the first token, and again before servers close them
  EXPECT_EQ(server.http->warmed[1].when - server.http->warmed[0].when, 4s);
  EXPECT_EQ(server.http->warmed[0].connections, 3U);
  EXPECT_EQ(server.http->warmed[0].request.url, "http://h/v1/models");
  EXPECT_EQ(server.http->warmed[0].request.secret_header, "Authorization: Bearer sesame");
  EXPECT_EQ(server.ledger.totals().calls, 1);
}

TEST(OpenAiModel, warms_hosted_services_less_often_and_not_for_forks) {
  VirtualServer server(1, {}, "https://h/v1");
  server.http->answers = {reasoning_for(9), whole()};
  ASSERT_TRUE(server.ask());
  EXPECT_EQ(server.http->warmed.size(), 1U);
  server.http->warmed.clear();
  Request fork;
  fork.messages = {{Speaker::user, "hello"}};
  fork.mode = Mode::answer;
  fork.prefix = ReasoningPrefix{.text = "So.", .token_ids = {}};
  server.runtime.loop.run(nap(server.runtime.loop, 60s));
  ASSERT_TRUE(server.runtime.loop.run(specgen::ask(*server.model, std::move(fork))));
  EXPECT_TRUE(server.http->warmed.empty());
}

TEST(OpenAiModel, fails_after_its_last_attempt) {
  VirtualServer server;
  server.http->answers = {status(502), status(502), status(502), status(502), whole()};
  auto answer = server.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::stream_broken);
  EXPECT_EQ(server.http->requests.size(), 4U);
}

TEST(OpenAiModel, takes_the_same_steps_with_the_same_seed) {
  auto waits = [](std::uint64_t seed) {
    VirtualServer server(seed);
    server.http->answers = {status(500), status(500), whole()};
    EXPECT_TRUE(server.ask());
    return std::pair(server.http->sent_at, server.runtime.loop.trace_hash());
  };
  EXPECT_EQ(waits(3), waits(3));
  EXPECT_NE(waits(3).first, waits(4).first);
}

TEST(OpenAiModel, keepalives_do_not_count_as_tokens) {
  VirtualServer server;
  server.http->answers = {keepalives(100)};
  auto answer = server.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::model_silent);
  EXPECT_EQ(server.runtime.loop.now(), at(Request{}.idle_timeout));
}

TEST(OpenAiModel, a_retry_does_not_restart_the_idle_timeout) {
  VirtualServer server;
  FakeAnswer slow = keepalives(6);
  slow.breaks = Error{ErrorCode::stream_broken, "cut", {}};
  server.http->answers = {slow, keepalives(100)};
  auto answer = server.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::model_silent);
  EXPECT_EQ(server.runtime.loop.now(), at(Request{}.idle_timeout));
}

TEST(OpenAiModel, a_429_delays_other_calls_too) {
  VirtualServer server;
  server.http->answers = {status(429, {{"Retry-After", "8"}}), whole(), whole()};
  ASSERT_TRUE(server.ask());
  EXPECT_EQ(server.http->sent_at[1] - server.http->sent_at[0], 8s);
  ASSERT_TRUE(server.ask());
  EXPECT_GE(server.http->sent_at[2] - server.http->sent_at[1], server.gate->interval());
}

TEST(OpenAiModel, the_breaker_stops_calls_to_a_dead_server) {
  VirtualServer server(1, {.failures_to_open = 3, .first_pause = 5min});
  server.http->answers = {unreachable(), unreachable(), unreachable(), unreachable()};
  auto answer = server.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(server.http->requests.size(), 3U) << "the breaker refused the fourth attempt";
  EXPECT_EQ(answer.error().code, ErrorCode::model_overloaded);
}

// Races each event against a timer that often wins.
Task<std::string> impatient(Loop& loop, Model& model, Request request) {
  auto generation = (co_await model.start(std::move(request))).value();
  std::string text;
  while (true) {
    auto raced = co_await race(generation->next(), loop.sleep(3ms));
    if (raced.second()) continue;
    StreamEvent event = raced.first()->value();
    if (auto* delta = std::get_if<Delta>(&event)) text += delta->text;
    if (std::holds_alternative<Ended>(event)) co_return text;
  }
}

TEST(OpenAiModel, next_may_be_cancelled_anywhere) {
  VirtualServer server;
  FakeAnswer slow;
  for (char byte : kWhole) slow.pieces.push_back({2ms, std::string(1, byte)});
  server.http->answers = {status(500), slow};
  Request request;
  request.messages = {{Speaker::user, "hello"}};
  EXPECT_EQ(server.runtime.loop.run(impatient(server.runtime.loop, *server.model, request)), "hi");
  EXPECT_EQ(server.ledger.totals().completion_tokens, 1);
}

Task<void> start_and_leave(Model& model, Request request) {
  auto generation = co_await model.start(std::move(request));
}

TEST(OpenAiModel, a_call_cancelled_at_any_moment_has_one_row) {
  for (int turns = 0; turns < 60; ++turns) {
    VirtualServer server;
    FakeAnswer slow;
    for (char byte : kWhole) slow.pieces.push_back({Duration::zero(), std::string(1, byte)});
    server.http->answers = {slow};
    Request request;
    request.messages = {{Speaker::user, "hello"}};
    {
      TaskGroup group(server.runtime.loop);
      auto follow = [](Model& model, Request asked) -> Task<void> {
        auto answer = co_await specgen::ask(model, std::move(asked));
        (void)answer;
      };
      group.spawn(follow(*server.model, request));
      server.runtime.loop.run(pass(server.runtime.loop, turns));
    }
    EXPECT_EQ(server.ledger.records().size(), server.http->requests.size()) << turns;
    for (const CallRecord& row : server.ledger.records()) {
      EXPECT_NE(row.outcome, CallOutcome::under_way) << turns;
    }
  }
}

TEST(OpenAiModel, a_call_that_is_not_read_is_cancelled_at_once) {
  VirtualServer server;
  server.http->answers = {keepalives(5)};
  Request request;
  request.messages = {{Speaker::user, "hello"}};
  server.runtime.loop.run(start_and_leave(*server.model, request));
  ASSERT_EQ(server.ledger.records().size(), 1U);
  EXPECT_EQ(server.ledger.records()[0].outcome, CallOutcome::cancelled);
  EXPECT_EQ(server.ledger.records()[0].usage.prompt_tokens, estimate_tokens("hello"));
}

}  // namespace
}  // namespace specgen
