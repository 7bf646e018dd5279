#include "generate/cassette/tape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generate/cassette/cassette_for_tests.h"
#include "generate/cassette/request_key.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

const std::string kReasoning =
    "First I look at the shapes. Then a tile of 64 seems right. No, 128 is better, with a tail.";

std::string chat(std::string_view more_messages = "", std::string_view members = "") {
  return fmt::format(
      R"({{"model":"m","stream":true,"messages":[{{"role":"user","content":"Make it fast."}}{}]{}}})",
      more_messages, members);
}

std::string prefilled(std::string_view reasoning) {
  return chat(fmt::format(
      R"(,{{"role":"assistant","reasoning_content":"{}","content":"```cpp\n"}})", reasoning));
}

std::string quoting(std::string_view reasoning) {
  return chat(fmt::format(R"(,{{"role":"user","content":"Notes:\n{}\nAnswer now."}})", reasoning));
}

RecordedExchange answering(std::uint64_t number, std::string body, std::string content) {
  return exchange_of(number, std::move(body),
                     {{1ms, chat_chunk("content", content)}, {2ms, last_chunks(5, 7)}});
}

RecordedExchange reasoning(std::uint64_t number) {
  return exchange_of(number, chat(),
                     {{1ms, chat_chunk("reasoning_content", kReasoning)},
                      {2ms, chat_chunk("content", "whole answer")},
                      {3ms, last_chunks(5, 30)}});
}

RecordedRequest post(std::string body, std::string target = "/v1/chat/completions") {
  return {"POST", std::move(target), {}, std::move(body)};
}

Cassette cassette_of(std::vector<RecordedExchange> exchanges) {
  Cassette cassette;
  cassette.name = "a.cassette";
  cassette.exchanges = std::move(exchanges);
  return cassette;
}

Request fork_of(std::string prefix) {
  Request request;
  request.messages = {{Speaker::user, "Make it fast."}};
  request.mode = Mode::answer;
  request.prefix = ReasoningPrefix{std::move(prefix), {}};
  return request;
}

std::string first(std::size_t size) {
  return kReasoning.substr(0, size);
}

TEST(RequestKey, ignores_member_order_and_request_ids) {
  EXPECT_EQ(request_key(post(R"({"a":1.0,"b":{"d":2,"c":"x"},"user":"me"})")),
            request_key(post(R"({"b":{"c":"x","d":2},"rid":"f-7","a":1})")));
  EXPECT_NE(request_key(post(R"({"a":1})")), request_key(post(R"({"a":2})")));
  EXPECT_NE(request_key(post(R"({"b":{"user":"x"}})")), request_key(post(R"({"b":{}})")));
  EXPECT_NE(request_key(post("{}", "/a")), request_key(post("{}", "/b")));
  EXPECT_NE(request_key(post("no json 1")), request_key(post("no json 2")));
}

TEST(Tape, equal_requests_get_their_recordings_in_order_and_then_the_last_again) {
  Tape tape(cassette_of({answering(1, chat(), "a"), answering(2, chat(), "b")}));
  for (std::uint64_t number : {1, 2, 2, 2}) {
    auto match = tape.match(post(chat()));
    ASSERT_TRUE(match);
    EXPECT_TRUE(match->exact);
    EXPECT_EQ(match->exchange->number, number);
  }
}

TEST(Tape, a_request_that_was_not_recorded_is_an_error_that_names_the_difference) {
  Tape tape(cassette_of({answering(1, chat("", R"(,"temperature":1,"seed":3)"), "a")}));
  auto other = tape.match(post(chat("", R"(,"temperature":0.5,"seed":3)")));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::not_recorded);
  EXPECT_NE(other.error().context.find("exchange 1, differs in temperature"), std::string::npos)
      << other.error().context;
  auto path = tape.match(post("{}", "/v1/embeddings"));
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().context.find("POST /v1/embeddings was never recorded"), std::string::npos);
}

TEST(Tape, a_fork_that_was_not_recorded_is_answered_from_the_nearest_cut_before_it) {
  Tape tape(cassette_of({reasoning(1), answering(2, prefilled(first(28)), "early"),
                         answering(3, prefilled(first(58)), "late")}));
  struct Expected {
    std::size_t cut;
    std::uint64_t number;
  };
  for (auto [cut, number] : {Expected{30, 2}, Expected{57, 2}, Expected{62, 3}, Expected{88, 3}}) {
    auto match = tape.match(post(prefilled(first(cut))));
    ASSERT_TRUE(match) << cut << match.error().text();
    EXPECT_FALSE(match->exact);
    EXPECT_EQ(match->exchange->number, number) << cut;
    EXPECT_NE(match->note.find("nearest"), std::string::npos) << match->note;
  }
  auto exact = tape.match(post(prefilled(first(28))));
  ASSERT_TRUE(exact);
  EXPECT_TRUE(exact->exact);
  auto too_early = tape.match(post(prefilled(first(10))));
  ASSERT_FALSE(too_early);
  EXPECT_EQ(too_early.error().code, ErrorCode::not_recorded);
  EXPECT_NE(too_early.error().context.find("earliest"), std::string::npos);
}

TEST(Tape, a_fork_of_other_reasoning_is_not_answered) {
  Tape tape(cassette_of({reasoning(1), answering(2, prefilled(first(28)), "early")}));
  EXPECT_FALSE(tape.match(post(prefilled("Some other reasoning is here, and it is long."))));
}

TEST(Tape, forks_are_recognised_in_every_form) {
  std::string rendered = "<|user|>\\nMake it fast.<|assistant|><think>\\n";
  auto raw = [&](std::size_t cut) {
    return fmt::format(R"({{"prompt":"{}{}\n</think>\n\n","stream":true}})", rendered, first(cut));
  };
  RecordedExchange completion = exchange_of(
      2, raw(28),
      {{1ms, "data: {\"choices\":[{\"index\":0,\"text\":\"x\"}]}\n\n"}, {2ms, last_chunks(1, 1)}});
  completion.request.target = "/v1/completions";
  Tape tape(cassette_of({reasoning(1), completion, answering(3, quoting(first(40)), "quoted")}));
  auto by_raw = tape.match(post(raw(50), "/v1/completions"));
  ASSERT_TRUE(by_raw) << by_raw.error().text();
  EXPECT_EQ(by_raw->exchange->number, 2u);
  auto by_quote = tape.match(post(quoting(first(50))));
  ASSERT_TRUE(by_quote) << by_quote.error().text();
  EXPECT_EQ(by_quote->exchange->number, 3u);
  // An answer of another shape could not be parsed.
  EXPECT_FALSE(tape.match(post(raw(50), "/v2/completions")));
  // In process, the shape does not matter.
  auto fork = tape.match(fork_of(first(50)));
  ASSERT_TRUE(fork);
  EXPECT_EQ(fork->exchange->number, 3u);
}

TEST(Tape, forks_by_token_ids_are_recognised_by_the_reported_tokens) {
  auto chunk = [](std::string_view text, std::string_view ids, std::string_view prompt_ids = "") {
    return fmt::format(
        "data: "
        "{{{}\"choices\":[{{\"index\":0,\"delta\":{{\"reasoning\":\"{}\"}},\"token_ids\":[{}]}}]}}"
        "\n\n",
        prompt_ids, text, ids);
  };
  RecordedExchange main = exchange_of(1, chat(),
                                      {{1ms, chunk("one ", "11", "\"prompt_token_ids\":[1,2,3],")},
                                       {2ms, chunk("two ", "12")},
                                       {3ms, chunk("three", "13")},
                                       {4ms, last_chunks(3, 3)}});
  auto ids = [](std::string_view list) {
    return fmt::format(R"({{"prompt":[{}],"stream":true}})", list);
  };
  RecordedExchange fork = answering(2, ids("1,2,3,11,99"), "x");
  fork.request.target = "/v1/completions";
  Tape tape(cassette_of({main, fork}));
  auto match = tape.match(post(ids("1,2,3,11,12,99"), "/v1/completions"));
  ASSERT_TRUE(match) << match.error().text();
  EXPECT_EQ(match->exchange->number, 2u);
  EXPECT_FALSE(match->exact);
  EXPECT_FALSE(tape.match(post(ids("1,2,4,11,12,99"), "/v1/completions")));
}

TEST(Tape, in_process_a_fork_from_all_reasoning_gets_its_recorded_answer) {
  Tape tape(cassette_of({reasoning(1)}));
  auto whole = tape.match(fork_of(kReasoning + "\n"));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->exact);
  EXPECT_TRUE(whole->content_only);
  EXPECT_FALSE(tape.match(fork_of(first(40))));
}

TEST(Tape, in_process_a_refused_attempt_is_skipped) {
  RecordedExchange refused = answering(1, chat(), "");
  refused.head->status = 429;
  Tape tape(cassette_of({refused, answering(2, chat(), "a")}));
  Request request;
  request.messages = {{Speaker::user, "Make it fast."}};
  auto match = tape.match(request);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->exchange->number, 2u);
  EXPECT_EQ(tape.match(post(chat()))->exchange->number, 1u);
}

TEST(Tape, a_later_turn_that_repeats_old_reasoning_is_not_a_fork) {
  std::string next = chat(fmt::format(
      R"(,{{"role":"assistant","reasoning_content":"{}","content":"x"}},{{"role":"user","content":"More."}})",
      kReasoning));
  Tape tape(cassette_of({reasoning(1), answering(2, next, "more")}));
  Request request;
  request.messages = {
      {Speaker::user, "Make it fast."}, {Speaker::assistant, "x"}, {Speaker::user, "More."}};
  auto match = tape.match(request);
  EXPECT_FALSE(match);  // reasoning of that turn was omitted
  EXPECT_FALSE(tape.match(fork_of(first(40))));
}

}  // namespace
}  // namespace specgen
