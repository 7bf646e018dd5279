// A call always ends, whatever the server does: with the right text or the right error, within its idle timeout
// plus a margin, and with every attempt in the ledger.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "generate/call_ledger.h"
#include "generate/openai/openai_model.h"
#include "runtime/race.h"
#include "runtime/testing.h"
#include "support/scripted_server.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr Duration kIdle = 300ms;
constexpr Duration kMaxBeyond = 5s;
const std::string kKey = "sk-very-secret-0123456789";

struct CallResult {
  std::string reasoning;
  std::string content;
  std::optional<Ended> ended;
  std::optional<Error> error;
  Duration took{};
};

Task<CallResult> follow(Loop& loop, Model& model, Request request) {
  CallResult result;
  Time began = loop.now();
  auto generation = co_await model.start(std::move(request));
  if (!generation) result.error = generation.error();
  while (!result.error && !result.ended) {
    auto event = co_await (*generation)->next();
    if (!event) {
      result.error = event.error();
    } else if (auto* delta = std::get_if<Delta>(&*event)) {
      (delta->kind == DeltaKind::reasoning ? result.reasoning : result.content) += delta->text;
    } else if (auto* ended = std::get_if<Ended>(&*event)) {
      result.ended = std::move(*ended);
    }
  }
  result.took = loop.now() - began;
  co_return result;
}

Request question() {
  Request request;
  request.messages = {{Speaker::user, "Write a kernel."}};
  request.purpose = "main";
  request.idle_timeout = kIdle;
  request.total_timeout = 20s;
  return request;
}

class OpenAiFaults : public testing::Test {
 protected:
  OpenAiFaults() { group_.spawn(server_.serve()); }

  std::unique_ptr<OpenAiModel> model_at(const std::string& url, int attempts,
                                        std::string_view profile = "generic") {
    OpenAiOptions options;
    options.name = "scripted";
    options.wire.url = parse_endpoint_url(url).value();
    options.wire.model = "m";
    options.wire.profile = find_profile(profile).value();
    options.wire.family = &family_of("m");
    options.key = kKey;
    options.prices = {.prompt = 1, .cached = 0.1, .completion = 2};
    options.retry = {.attempts = attempts, .first_wait = 5ms, .max_wait = 20ms};
    auto http = HttpClient::open(runtime_.loop, runtime_.driver).value();
    auto gate = std::make_shared<EndpointGate>(runtime_.loop, GateOptions{});
    return std::make_unique<OpenAiModel>(runtime_.loop, std::move(http), std::move(gate), ledger_,
                                         std::move(options));
  }

  CallResult ask(Request request = question(), int attempts = 1) {
    auto model = model_at(server_.url(), attempts);
    return call(*model, std::move(request));
  }
  CallResult call(OpenAiModel& model, Request request) {
    CallResult result = runtime_.loop.run(follow(runtime_.loop, model, std::move(request)));
    check(result);
    return result;
  }
  // Holds after every call.
  void check(const CallResult& result) {
    EXPECT_LE(result.took, kIdle + kMaxBeyond);
    EXPECT_EQ(server_.complaints(), std::vector<std::string>{});
    for (const CallRecord& row : ledger_.records()) {
      EXPECT_NE(row.outcome, CallOutcome::under_way);
      EXPECT_FALSE(row.error.contains(kKey));
    }
    if (result.error) {
      EXPECT_FALSE(result.error->text().contains(kKey)) << result.error->text();
      EXPECT_FALSE(ledger_.records().empty());
    }
  }
  void expect_error(const CallResult& result, ErrorCode code) {
    ASSERT_TRUE(result.error) << "it was accepted: " << result.content;
    EXPECT_EQ(result.error->code, code) << result.error->text();
  }
  void answer(std::vector<ServerStep> steps) {
    server_.expect(
        {.path = "/v1/chat/completions", .check = looks_right, .steps = std::move(steps)});
  }
  static std::string looks_right(const ReceivedRequest& request) {
    if (header_value(request.headers, "authorization") != "Bearer " + kKey) return "no key";
    Json json = request.json();
    if (text_at(json, "model") != "m" || !flag_at(json, "stream")) return request.body;
    return {};
  }

  RealRuntime runtime_;
  CallLedger ledger_;
  ScriptedServer server_{runtime_.loop, runtime_.driver};
  TaskGroup group_{runtime_.loop};
};

std::vector<std::string> good_answer() {
  return {sse_head(),
          reasoning_event("Let me "),
          reasoning_event("think."),
          content_event("int "),
          content_event("x;"),
          finish_event("stop"),
          usage_event(11, 22, 5),
          done_event(),
          last_chunk()};
}

std::vector<ServerStep> sending(const std::vector<std::string>& pieces) {
  std::vector<ServerStep> steps;
  for (const std::string& piece : pieces) steps.push_back(send(piece));
  steps.push_back(next_request());
  return steps;
}

TEST_F(OpenAiFaults, without_any_fault_there_is_the_text_and_its_cost) {
  answer(sending(good_answer()));
  CallResult result = ask();
  ASSERT_FALSE(result.error) << result.error->text();
  EXPECT_EQ(result.reasoning, "Let me think.");
  EXPECT_EQ(result.content, "int x;");
  EXPECT_EQ(result.ended->reasons, std::vector{FinishReason::stop});
  EXPECT_FALSE(result.ended->usage.estimated);
  EXPECT_EQ(ledger_.totals().calls, 1);
  EXPECT_EQ(ledger_.totals().prompt_tokens, 11);
  EXPECT_EQ(ledger_.totals().completion_tokens, 22);
  EXPECT_EQ(ledger_.totals().cached_tokens, 5);
  EXPECT_EQ(ledger_.totals().estimated_tokens, 0);
}

TEST_F(OpenAiFaults, a_stream_cut_at_any_chunk_is_incomplete_before_its_finish) {
  std::vector<std::string> all = good_answer();
  for (std::size_t cut = 1; cut < all.size(); ++cut) {
    std::vector<ServerStep> steps = sending({all.begin(), all.begin() + static_cast<long>(cut)});
    steps.back() = close_connection();
    answer(std::move(steps));
    CallResult result = ask();
    bool finished = cut > 5;  // finish_event was sent
    EXPECT_EQ(result.ended.has_value(), finished) << cut;
    if (!finished) expect_error(result, ErrorCode::stream_broken);
    const CallRecord& row = ledger_.records().back();
    EXPECT_EQ(row.outcome, finished ? CallOutcome::ended : CallOutcome::failed);
    if (!finished && cut > 3) {
      EXPECT_EQ(row.evidence,
                "<think>\nLet me think.\n</think>\nint " + std::string(cut > 4 ? "x;" : ""));
    }
    EXPECT_EQ(row.usage.estimated, cut <= 6) << cut;
  }
  EXPECT_EQ(ledger_.records().size(), all.size() - 1);
}

TEST_F(OpenAiFaults, a_character_split_over_packets_is_joined) {
  std::string event = content_event("naïve → kernel");
  std::size_t middle = event.find("\xc3") + 1;
  answer({send(sse_head()), send(event.substr(0, middle)), pause(10ms), send(event.substr(middle)),
          send(finish_event("stop") + done_event() + last_chunk()), next_request()});
  EXPECT_EQ(ask().content, "naïve → kernel");
}

TEST_F(OpenAiFaults, every_byte_in_a_separate_packet_gives_the_same) {
  std::vector<ServerStep> steps{send(sse_head())};
  std::string body = reasoning_event("hm ü") + content_event("ok") + finish_event("stop") +
                     usage_event(3, 4) + done_event() + last_chunk();
  for (char byte : body) {
    steps.push_back(send(std::string(1, byte)));
    steps.push_back(pause(100us));
  }
  steps.push_back(next_request());
  answer(std::move(steps));
  CallResult result = ask();
  EXPECT_EQ(result.reasoning, "hm ü");
  EXPECT_EQ(result.content, "ok");
  EXPECT_EQ(ledger_.totals().completion_tokens, 4);
}

// One request, one misbehaviour, one error.
struct Fault {
  std::string name;
  std::vector<ServerStep> steps;
  ErrorCode expected;
  std::string says = {};  // part of the error's text
};

std::string half(const std::string& text) {
  return text.substr(0, text.size() / 2);
}

std::string deep_json() {
  return std::string(100'000, '[') + std::string(100'000, ']');
}

std::vector<Fault> faults() {
  using enum ErrorCode;
  std::string utf8 = content_event("é");
  std::string begun = sse_head() + content_event("int ");
  std::string page = "<!DOCTYPE html><html><body>It works!</body></html>";
  std::string overloaded = R"({"error":{"message":"slow down","type":"rate_limit"}})";
  std::vector<ServerStep> comments{send(sse_head())};
  for (int i = 0; i < 200; ++i) {
    comments.push_back(send(http_chunk(": keep-alive\n\n")));
    comments.push_back(pause(10ms));
  }
  comments.push_back(wait_for_client());
  return {
      {"cut_within_a_character",
       {send(begun + utf8.substr(0, utf8.find("\xc3") + 1)), close_connection()},
       stream_broken},
      {"cut_within_json",
       {send(begun + half(content_event("more"))), close_connection()},
       stream_broken},
      {"no_done_and_no_finish",
       {send(begun + last_chunk()), close_connection()},
       stream_broken,
       "in the middle"},
      {"stall_before_the_head", {wait_for_client()}, model_silent},
      {"stall_after_the_head", {send(sse_head()), wait_for_client()}, model_silent},
      {"stall_in_the_stream", {send(begun), wait_for_client()}, model_silent, "no data at all"},
      {"comments_for_ever", comments, model_silent, "only keepalives"},
      {"garbage_for_http",
       {send("\x01\x02\xff garbage\r\n\r\n"), close_connection()},
       endpoint_unreachable},
      {"garbage_for_json", {send(begun + sse("{]")), wait_for_client()}, bad_stream},
      {"an_array_for_a_chunk", {send(begun + sse("[1,2]")), wait_for_client()}, bad_stream},
      {"nesting_without_end", {send(begun + sse(deep_json())), wait_for_client()}, bad_stream},
      {"a_line_without_end",
       {send(begun + http_chunk("data: \"" + std::string(5 << 20, 'x'))), wait_for_client()},
       bad_stream},
      {"a_page_with_200",
       {send(plain_answer(200, "text/html", page)), next_request()},
       not_an_endpoint,
       "text/html"},
      {"json_with_200",
       {send(plain_answer(200, "application/json", R"({"choices":[]})")), next_request()},
       not_an_endpoint},
      {"an_error_with_200",
       {send(plain_answer(200, "application/json", overloaded)), next_request()},
       model_refused,
       "slow down"},
      {"a_wrong_content_type",
       {send(sse_head("text/plain") + content_event("x") + last_chunk())},
       not_an_endpoint,
       "text/plain"},
      {"status_400",
       {send(plain_answer(400, "application/json", R"({"error":{"message":"too long"}})")),
        next_request()},
       model_refused,
       "too long"},
      {"status_401",
       {send(plain_answer(401, "application/json",
                          R"({"error":{"message":"Incorrect API key provided: )" + kKey + "\"}}")),
        next_request()},
       key_refused,
       "[key]"},
      {"status_403", {send(plain_answer(403, "text/html", page)), next_request()}, key_refused},
      {"status_404_of_a_path",
       {send(plain_answer(404, "text/html", page)), next_request()},
       not_an_endpoint},
      {"status_404_of_a_model",
       {send(plain_answer(404, "application/json",
                          R"({"object":"error","message":"no model m","code":404})")),
        next_request()},
       model_refused,
       "no model m"},
      {"status_429",
       {send(plain_answer(429, "application/json", overloaded)), next_request()},
       model_overloaded,
       "slow down"},
      {"status_500",
       {send(plain_answer(500, "text/plain", "oops")), next_request()},
       stream_broken,
       "HTTP 500: oops"},
      {"status_502", {send(plain_answer(502, "text/html", page)), next_request()}, stream_broken},
      {"status_503", {send(plain_answer(503, "text/plain", "")), next_request()}, model_overloaded},
      {"status_504", {send(plain_answer(504, "text/plain", "")), next_request()}, stream_broken},
      {"status_529",
       {send(plain_answer(529, "text/plain", "busy")), next_request()},
       model_overloaded},
      {"a_redirect",
       {send(plain_answer(302, "text/html", "", "Location: http://elsewhere/\r\n")),
        next_request()},
       not_an_endpoint,
       "elsewhere"},
      {"an_error_event",
       {send(begun + sse(R"({"error":{"message":"out of memory","code":500}})") + done_event() +
             last_chunk()),
        next_request()},
       model_refused,
       "out of memory"},
      {"a_flat_error_event",
       {send(begun + sse(R"({"object":"error","message":"aborted","code":503})") + last_chunk()),
        next_request()},
       model_overloaded,
       "aborted"},
      {"finish_by_abort",
       {send(begun + finish_event("abort") + done_event() + last_chunk())},
       stream_broken,
       "abort"},
      {"an_unrequested_choice",
       {send(sse_head() + content_event("x", 7)), wait_for_client()},
       stream_broken,
       "choice 7"},
      {"a_reset_before_the_head", {reset_connection()}, endpoint_unreachable},
      {"a_reset_in_the_stream", {send(begun), pause(20ms), reset_connection()}, stream_broken},
      {"closing_before_the_head", {close_connection()}, endpoint_unreachable},
      {"half_a_head", {send(half(sse_head())), close_connection()}, endpoint_unreachable},
      {"half_a_head_and_a_stall", {send(half(sse_head())), wait_for_client()}, model_silent},
      {"an_empty_stream",
       {send(sse_head() + last_chunk()), next_request()},
       stream_broken,
       "before it began"},
      {"only_done",
       {send(sse_head() + done_event() + last_chunk()), next_request()},
       stream_broken},
      {"an_empty_body",
       {send(plain_answer(200, "text/event-stream", "")), next_request()},
       stream_broken},
      {"a_content_length_too_long",
       {send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
             "9999\r\n\r\ndata: {\"choices\":[]}\n\n"),
        close_connection()},
       stream_broken},
      {"a_content_length_too_short",
       {send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
             "9\r\n\r\ndata: {\"choices\":[]}\n\n"),
        close_connection()},
       bad_stream},
      {"a_chunk_size_that_lies",
       {send(sse_head() + "5\r\ndata: {\"choices\":[]}\n\n\r\n"), close_connection()},
       stream_broken},
      {"a_page_within_the_stream",
       {send(sse_head() + http_chunk(page) + last_chunk())},
       stream_broken,
       "DOCTYPE"},
  };
}

class EachFault : public OpenAiFaults, public testing::WithParamInterface<Fault> {};

TEST_P(EachFault, ends_with_its_error_and_one_row) {
  const Fault& fault = GetParam();
  answer(fault.steps);
  CallResult result = ask();
  expect_error(result, fault.expected);
  if (result.error) {
    EXPECT_TRUE(result.error->text().contains(fault.says)) << result.error->text();
  }
  ASSERT_EQ(ledger_.records().size(), 1U);
  EXPECT_EQ(ledger_.records()[0].outcome, CallOutcome::failed);
  EXPECT_EQ(server_.received().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Faults, EachFault, testing::ValuesIn(faults()),
                         [](const auto& info) { return info.param.name; });

TEST_F(OpenAiFaults, a_closed_port) {
  auto model = model_at("http://127.0.0.1:1/v1", 2);
  expect_error(call(*model, question()), ErrorCode::endpoint_unreachable);
  EXPECT_EQ(ledger_.totals().calls, 2);
  EXPECT_EQ(ledger_.totals().prompt_tokens, 0) << "nothing was sent that a model could have read";
}

TEST_F(OpenAiFaults, an_unknown_host_name) {
  auto model = model_at("http://no-such-host.invalid/v1", 1);
  expect_error(call(*model, question()), ErrorCode::endpoint_unreachable);
}

TEST_F(OpenAiFaults, a_server_without_tls) {
  auto model = model_at(server_.https_url(), 1);
  Request request = question();
  CallResult result = runtime_.loop.run(follow(runtime_.loop, *model, std::move(request)));
  ASSERT_TRUE(result.error);
  EXPECT_LE(result.took, kIdle + kMaxBeyond);
  EXPECT_TRUE(result.error->code == ErrorCode::endpoint_unreachable ||
              result.error->code == ErrorCode::model_silent)
      << result.error->text();
}

TEST_F(OpenAiFaults, done_is_not_needed_after_a_finish) {
  answer({send(sse_head() + content_event("x") + finish_event("length") + last_chunk()),
          next_request()});
  CallResult result = ask();
  ASSERT_TRUE(result.ended);
  EXPECT_EQ(result.ended->reasons, std::vector{FinishReason::length});
  EXPECT_TRUE(result.ended->usage.estimated);
  EXPECT_EQ(ledger_.totals().estimated_tokens,
            ledger_.totals().prompt_tokens + ledger_.totals().completion_tokens);
}

TEST_F(OpenAiFaults, a_finished_stream_that_stays_open_is_not_waited_for) {
  answer({send(sse_head() + content_event("x") + finish_event("stop")), wait_for_client()});
  EXPECT_EQ(ask().content, "x");
}

TEST_F(OpenAiFaults, usage_reported_twice_counts_once) {
  answer({send(sse_head() + content_event("x") + usage_event(5, 1) + finish_event("stop") +
               usage_event(5, 9) + usage_event(5, 9) + done_event() + last_chunk()),
          next_request()});
  ask();
  EXPECT_EQ(ledger_.totals().prompt_tokens, 5);
  EXPECT_EQ(ledger_.totals().completion_tokens, 9);
}

TEST_F(OpenAiFaults, duplicated_chunks_do_not_change_the_cost) {
  answer({send(sse_head() + content_event("a") + content_event("a") + finish_event("stop") +
               usage_event(5, 2) + done_event() + done_event() + last_chunk()),
          next_request()});
  EXPECT_EQ(ask().content, "aa") << "the protocol cannot distinguish a copy from a repetition";
  EXPECT_EQ(ledger_.totals().completion_tokens, 2);
}

TEST_F(OpenAiFaults, a_finish_that_precedes_text_loses_none) {
  answer({send(sse_head() + content_event("a") + usage_event(5, 2) + finish_event("stop") +
               content_event("b") + done_event() + last_chunk()),
          next_request()});
  CallResult result = ask();
  EXPECT_EQ(result.content, "ab");
  EXPECT_TRUE(result.ended.has_value());
}

TEST_F(OpenAiFaults, slow_tokens_are_not_an_idle_timeout) {
  std::vector<ServerStep> steps{send(sse_head())};
  for (int i = 0; i < 6; ++i) {
    steps.push_back(pause(kIdle / 2));
    steps.push_back(send(content_event("t")));
  }
  steps.push_back(send(finish_event("stop") + done_event() + last_chunk()));
  answer(std::move(steps));
  EXPECT_EQ(ask().content, "tttttt");
}

TEST_F(OpenAiFaults, endless_tokens_reach_the_total_timeout) {
  std::vector<ServerStep> steps{send(sse_head())};
  for (int i = 0; i < 100; ++i) {
    steps.push_back(send(content_event("t")));
    steps.push_back(pause(20ms));
  }
  answer(std::move(steps));
  Request request = question();
  request.total_timeout = 200ms;
  CallResult result = ask(std::move(request));
  expect_error(result, ErrorCode::timeout);
  EXPECT_LT(result.took, 1s);
}

TEST_F(OpenAiFaults, a_429_is_retried_after_the_requested_time) {
  answer({send(plain_answer(429, "text/plain", "", "Retry-After-Ms: 120\r\n")), next_request()});
  answer(sending(good_answer()));
  CallResult result = ask(question(), 3);
  ASSERT_FALSE(result.error) << result.error->text();
  EXPECT_GE(result.took, 120ms);
  EXPECT_EQ(ledger_.totals().calls, 2);
  EXPECT_EQ(ledger_.records()[1].attempt, 2);
  EXPECT_EQ(ledger_.totals().completion_tokens, 22) << "the refused attempt cost nothing";
}

TEST_F(OpenAiFaults, a_429_without_a_time_is_retried_soon) {
  answer({send(plain_answer(429, "text/plain", "")), next_request()});
  answer(sending(good_answer()));
  EXPECT_EQ(ask(question(), 3).content, "int x;");
}

TEST_F(OpenAiFaults, a_429_that_requests_too_long_a_wait_fails_at_once) {
  answer({send(plain_answer(429, "text/plain", "", "Retry-After: 3600\r\n")), next_request()});
  CallResult result = ask(question(), 3);
  expect_error(result, ErrorCode::model_overloaded);
  EXPECT_LT(result.took, kIdle);
}

TEST_F(OpenAiFaults, a_failure_before_the_first_token_is_retried) {
  answer({close_connection()});
  answer({send(plain_answer(500, "text/plain", "")), next_request()});
  answer({send(sse_head() + sse(R"({"choices":[]})") + last_chunk()), close_connection()});
  answer(sending(good_answer()));
  CallResult result = ask(question(), 4);
  ASSERT_FALSE(result.error) << result.error->text();
  EXPECT_EQ(result.content, "int x;");
  EXPECT_EQ(ledger_.totals().calls, 4);
}

TEST_F(OpenAiFaults, a_failure_after_the_first_token_is_not_retried) {
  answer({send(sse_head() + content_event("int ")), reset_connection()});
  CallResult result = ask(question(), 4);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(server_.received().size(), 1U);
}

// Reads until there is some text, then cancels.
Task<void> leave_after_first_text(Model& model, Request request) {
  auto generation = co_await model.start(std::move(request));
  while (generation) {
    auto event = co_await (*generation)->next();
    if (!event || std::holds_alternative<Delta>(*event)) co_return;
  }
}

Task<bool> until(Loop& loop, const std::function<bool()>& holds) {
  Time give_up = loop.now() + 5s;
  while (!holds() && loop.now() < give_up) co_await loop.sleep(1ms);
  co_return holds();
}

TEST_F(OpenAiFaults, cancelling_closes_the_connection_and_records_the_text_so_far) {
  answer({send(sse_head() + content_event("int ")), wait_for_client()});
  auto model = model_at(server_.url(), 1);
  runtime_.loop.run(leave_after_first_text(*model, question()));
  EXPECT_TRUE(
      runtime_.loop.run(until(runtime_.loop, [&] { return server_.closed_by_client() == 1; })));
  ASSERT_EQ(ledger_.records().size(), 1U);
  EXPECT_EQ(ledger_.records()[0].outcome, CallOutcome::cancelled);
  EXPECT_EQ(ledger_.records()[0].evidence, "int ");
  EXPECT_TRUE(ledger_.records()[0].usage.estimated);
}

TEST_F(OpenAiFaults, a_cancelled_call_has_the_usage_reported_by_the_server) {
  std::string counted = R"({"choices":[{"index":0,"delta":{"content":"int "}}],)"
                        R"("usage":{"prompt_tokens":7,"completion_tokens":3}})";
  answer({send(sse_head() + sse(counted)), wait_for_client()});
  auto model = model_at(server_.url(), 1, "vllm");
  runtime_.loop.run(leave_after_first_text(*model, question()));
  EXPECT_EQ(ledger_.totals().prompt_tokens, 7);
  EXPECT_EQ(ledger_.totals().completion_tokens, 3);
  EXPECT_EQ(ledger_.totals().estimated_tokens, 0);
}

TEST_F(OpenAiFaults, an_sglang_server_gets_an_abort_request) {
  std::string id;
  server_.expect({.path = "/v1/chat/completions",
                  .check =
                      [&](const ReceivedRequest& request) {
                        id = text_at(request.json(), "rid");
                        return std::string(id.empty() ? "no rid" : "");
                      },
                  .steps = {send(sse_head() + content_event("int ")), wait_for_client()}});
  server_.expect({.path = "/abort_request",
                  .check =
                      [&](const ReceivedRequest& request) {
                        bool right = text_at(request.json(), "rid") == id &&
                                     !flag_at(request.json(), "abort_all");
                        return right ? std::string() : request.body;
                      },
                  .steps = {send(plain_answer(200, "text/plain", "")), next_request()}});
  auto model = model_at(server_.url(), 1, "sglang");
  runtime_.loop.run(leave_after_first_text(*model, question()));
  EXPECT_TRUE(runtime_.loop.run(until(runtime_.loop, [&] { return server_.scenes_left() == 0; })));
  EXPECT_EQ(server_.complaints(), std::vector<std::string>{});
}

}  // namespace
}  // namespace specgen
