// Every fork strategy, against a scripted server of every profile that supports it: the request (path, body,
// headers) is what that server expects, and the answer has no echo or marks.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "generate/call_ledger.h"
#include "generate/openai/openai_model.h"
#include "runtime/testing.h"
#include "support/scripted_server.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using boost::json::array;
using boost::json::object;

const std::string kThought = "I will tile by 64.\n\n";

struct CallResult {
  std::vector<std::string> contents;  // per choice
  std::string reasoning;
  std::optional<Ended> ended;
  std::optional<Error> error;
};

Task<CallResult> follow(Model& model, Request request) {
  CallResult result;
  result.contents.resize(static_cast<std::size_t>(request.count));
  auto generation = co_await model.start(std::move(request));
  if (!generation) result.error = generation.error();
  while (!result.error && !result.ended) {
    auto event = co_await (*generation)->next();
    if (!event) {
      result.error = event.error();
    } else if (auto* delta = std::get_if<Delta>(&*event)) {
      if (delta->kind == DeltaKind::reasoning) result.reasoning += delta->text;
      if (delta->kind == DeltaKind::content) {
        result.contents[static_cast<std::size_t>(delta->choice)] += delta->text;
      }
    } else if (auto* ended = std::get_if<Ended>(&*event)) {
      result.ended = std::move(*ended);
    }
  }
  co_return result;
}

Request fork_request_of(int count = 1) {
  Request request;
  request.messages = {{Speaker::system, "You write kernels."}, {Speaker::user, "Softmax, please."}};
  request.mode = Mode::answer;
  request.prefix = ReasoningPrefix{.text = kThought, .token_ids = {}};
  request.answer_start = "```cpp\n";
  request.count = count;
  request.max_tokens = 900;
  request.stop = {"\n```"};
  request.sampling = {.temperature = 0.5, .top_p = {}, .seed = 7};
  request.affinity = "run-1";
  request.priority = 3;
  request.purpose = "fork";
  request.idle_timeout = 2s;
  return request;
}

std::string text_answer(int choices = 1) {
  std::string all = sse_head();
  for (int i = 0; i < choices; ++i) all += text_event(fmt::format("int a{};", i), i);
  for (int i = 0; i < choices; ++i) all += finish_event("stop", i);
  return all + usage_event(100, 10, 90) + done_event() + last_chunk();
}
std::string chat_answer(std::string_view echoed = {}) {
  return sse_head() + (echoed.empty() ? "" : content_event(echoed)) + content_event("int a0;") +
         finish_event("stop") + usage_event(100, 10, 90) + done_event() + last_chunk();
}

class Forks : public testing::Test {
 protected:
  Forks() { group_.spawn(server_.serve()); }

  OpenAiModel& open(std::string_view profile, ForkStrategy strategy,
                    std::string name = "qwen3-8b") {
    OpenAiOptions options;
    options.name = "scripted";
    options.wire.url = parse_endpoint_url(server_.url()).value();
    options.wire.model = name;
    options.wire.profile = find_profile(profile).value();
    options.wire.family = &family_of(name);
    options.wire.priorities = true;
    options.fork = strategy;
    options.retry.attempts = 1;
    model_ = std::make_unique<OpenAiModel>(
        runtime_.loop, HttpClient::open(runtime_.loop, runtime_.driver).value(),
        std::make_shared<EndpointGate>(runtime_.loop, GateOptions{}), ledger_, std::move(options));
    return *model_;
  }
  // Without a configured strategy.
  OpenAiModel& open_free(std::string_view profile) {
    open(profile, ForkStrategy::user_turn);
    OpenAiOptions options;
    options.name = "scripted";
    options.wire = model_->wire();
    options.retry.attempts = 1;
    model_ = std::make_unique<OpenAiModel>(
        runtime_.loop, HttpClient::open(runtime_.loop, runtime_.driver).value(),
        std::make_shared<EndpointGate>(runtime_.loop, GateOptions{}), ledger_, std::move(options));
    return *model_;
  }

  void answer(std::string path, std::string bytes, int status = 0) {
    if (status != 0) bytes = plain_answer(status, "application/json", bytes);
    server_.expect({.path = std::move(path), .steps = {send(std::move(bytes)), next_request()}});
  }
  CallResult ask(Request request) {
    CallResult result = runtime_.loop.run(follow(*model_, std::move(request)));
    EXPECT_EQ(server_.complaints(), std::vector<std::string>{});
    EXPECT_EQ(server_.scenes_left(), 0U);
    return result;
  }
  CallResult ask_well(Request request) {
    CallResult result = ask(std::move(request));
    EXPECT_FALSE(result.error) << result.error->text();
    EXPECT_EQ(result.contents[0], "int a0;");
    EXPECT_EQ(result.reasoning, "");
    return result;
  }
  Json sent(std::size_t number = 0) const { return server_.received().at(number).json(); }
  std::string header(std::string_view name, std::size_t number = 0) const {
    return std::string(header_value(server_.received().at(number).headers, name));
  }
  static const Json& at(const Json& json, std::string_view key) {
    static const Json kNothing;
    const Json* member = member_at(json, key);
    return member ? *member : kNothing;
  }
  // Common to all strategies.
  void check_common(const Json& body) {
    EXPECT_EQ(at(body, "stream"), true);
    EXPECT_EQ(at(body, "max_tokens"), 900);
    EXPECT_EQ(at(body, "stop"), (array{"\n```"}));
    EXPECT_EQ(at(body, "temperature"), 0.5);
    EXPECT_EQ(at(body, "seed"), 7);
  }

  RealRuntime runtime_;
  CallLedger ledger_;
  ScriptedServer server_{runtime_.loop, runtime_.driver};
  TaskGroup group_{runtime_.loop};
  std::unique_ptr<OpenAiModel> model_;
};

TEST_F(Forks, by_token_ids_on_vllm_send_the_server_s_own_tokens) {
  open("vllm", ForkStrategy::token_ids);
  answer("/tokenize", R"({"count":2,"tokens":[91,92]})", 200);
  answer("/v1/completions", text_answer());
  Request request = fork_request_of();
  request.prefix->token_ids = {1, 2, 3};
  ask_well(request);
  EXPECT_EQ(at(sent(0), "prompt"), "\n</think>\n\n```cpp\n");
  EXPECT_EQ(at(sent(0), "add_special_tokens"), false);
  EXPECT_EQ(at(sent(1), "prompt"), (array{1, 2, 3, 91, 92}));
  check_common(sent(1));
  EXPECT_EQ(at(sent(1), "priority"), -3) << "lower is served first there";
  EXPECT_EQ(at(sent(1), "stream_options"),
            (object{{"include_usage", true}, {"continuous_usage_stats", true}}));
  EXPECT_EQ(header("X-Session-ID", 1), "run-1");

  answer("/v1/completions", text_answer());
  ask_well(request);  // the closing mark's tokens are cached
}

TEST_F(Forks, by_token_ids_on_sglang_have_a_request_id_for_an_abort) {
  open("sglang", ForkStrategy::token_ids);
  answer("/tokenize", R"({"tokens":[9]})", 200);
  answer("/v1/completions", text_answer());
  Request request = fork_request_of();
  request.prefix->token_ids = {1};
  ask_well(request);
  EXPECT_EQ(at(sent(1), "prompt"), (array{1, 9}));
  EXPECT_EQ(at(sent(1), "priority"), 3) << "higher is served first there";
  EXPECT_EQ(header("X-SMG-Routing-Key", 1), "run-1");
  EXPECT_EQ(text_at(sent(1), "rid").size(), std::string("sg-00000000-0000000000").size());
}

TEST_F(Forks, by_token_ids_on_llamacpp_parse_special_tokens) {
  open("llamacpp", ForkStrategy::token_ids);
  answer("/tokenize", R"({"tokens":[9]})", 200);
  answer("/v1/completions", text_answer());
  Request request = fork_request_of();
  request.prefix->token_ids = {1};
  ask_well(request);
  EXPECT_EQ(sent(0), (object{{"content", "\n</think>\n\n```cpp\n"},
                             {"add_special", false},
                             {"parse_special", true}}));
  EXPECT_EQ(at(sent(1), "return_progress"), true);
  EXPECT_EQ(header("X-Conversation-Id", 1), "") << "with it a cancel would not stop the server";
}

TEST_F(Forks, by_raw_text_on_llamacpp_close_the_reasoning_in_the_rendered_prompt) {
  open("llamacpp", ForkStrategy::raw_text);
  answer("/apply-template", R"({"prompt":"<|user|>Softmax<|assistant|>\n"})", 200);
  answer("/v1/completions", text_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(text_at(sent(1), "prompt"),
            "<|user|>Softmax<|assistant|>\n<think>\n" + kThought + "\n</think>\n\n```cpp\n");
  check_common(sent(1));
}

TEST_F(Forks, by_raw_text_do_not_open_the_reasoning_twice) {
  open("llamacpp", ForkStrategy::raw_text, "deepseek-v3.2");
  answer("/apply-template", R"({"prompt":"<A><think>"})", 200);
  answer("/v1/completions", text_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(text_at(sent(1), "prompt"), "<A><think>" + kThought + "</think>```cpp\n");
}

TEST_F(Forks, by_raw_text_on_vllm_get_the_prompt_by_its_tokens) {
  open("vllm", ForkStrategy::raw_text);
  answer("/tokenize", R"({"tokens":[5,6]})", 200);
  answer("/detokenize", R"({"prompt":"<P>"})", 200);
  answer("/v1/completions", text_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(at(sent(0), "add_generation_prompt"), true);
  EXPECT_EQ(at(sent(1), "tokens"), (array{5, 6}));
  EXPECT_TRUE(text_at(sent(2), "prompt").starts_with("<P><think>\n" + kThought));
  EXPECT_EQ(at(sent(2), "add_special_tokens"), false);
}

TEST_F(Forks, by_raw_text_on_vllm_use_the_prompt_reported_by_the_main_stream) {
  open("vllm", ForkStrategy::raw_text);
  answer("/v1/chat/completions", sse_head() + sse(R"({"choices":[],"prompt_text":"<rendered>"})") +
                                     content_event("x") + finish_event("stop") + done_event() +
                                     last_chunk());
  Request main = fork_request_of();
  main.prefix.reset();
  main.mode = Mode::reason;
  ask(main);
  EXPECT_EQ(at(sent(0), "return_prompt_text"), true);
  EXPECT_EQ(at(sent(0), "return_token_ids"), true);
  answer("/v1/completions", text_answer());
  ask_well(fork_request_of());
  EXPECT_TRUE(text_at(sent(1), "prompt").starts_with("<rendered><think>\n"));
}

TEST_F(Forks, by_prefill_on_llamacpp_begin_the_answer_and_lose_its_echo) {
  open("llamacpp", ForkStrategy::prefill);
  answer("/v1/chat/completions", chat_answer("```cpp\n"));
  ask_well(fork_request_of());
  Json body = sent();
  EXPECT_EQ(at(body, "continue_final_message"), "content");
  EXPECT_EQ(at(body, "add_generation_prompt"), false);
  const array& messages = at(body, "messages").get_array();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], (object{{"role", "system"}, {"content", "You write kernels."}}));
  EXPECT_EQ(
      messages[2],
      (object{{"role", "assistant"}, {"reasoning_content", kThought}, {"content", "```cpp\n"}}));
  check_common(body);
}

TEST_F(Forks, by_prefill_without_a_start_still_close_the_reasoning) {
  open("llamacpp", ForkStrategy::prefill);
  answer("/v1/chat/completions", chat_answer("\n"));
  Request request = fork_request_of();
  request.answer_start.clear();
  ask_well(request);
  EXPECT_EQ(at(sent(), "messages").get_array().back().at("content"), "\n");
}

TEST_F(Forks, by_prefill_on_sglang_write_the_marks_themselves) {
  open("sglang", ForkStrategy::prefill);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(at(sent(), "continue_final_message"), true);
  EXPECT_EQ(at(sent(), "separate_reasoning"), false);
  EXPECT_EQ(at(sent(), "messages").get_array().back().at("content"),
            Json("<think>\n" + kThought + "\n</think>\n\n```cpp\n"));
}

TEST_F(Forks, by_prefill_on_vllm_name_the_reasoning) {
  open("vllm", ForkStrategy::prefill);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(at(sent(), "messages").get_array().back().at("reasoning"), Json(kThought));
  EXPECT_EQ(at(sent(), "continue_final_message"), true);
}

TEST_F(Forks, by_prefill_on_deepseek_go_to_its_beta) {
  open("deepseek", ForkStrategy::prefill, "deepseek-v4-pro");
  answer("/beta/chat/completions", chat_answer());
  ask_well(fork_request_of());
  const Json last = at(sent(), "messages").get_array().back();
  EXPECT_EQ(last.at("prefix"), true);
  EXPECT_EQ(last.at("reasoning_content"), Json(kThought));
  EXPECT_EQ(at(sent(), "user_id"), "run-1");
  EXPECT_TRUE(at(sent(), "priority").is_null());
}

struct Switch {
  std::string profile;
  std::string key;
  Json value;
};
class ReasoningOff : public Forks, public testing::WithParamInterface<Switch> {};

TEST_P(ReasoningOff, is_spelled_as_the_server_expects) {
  open(GetParam().profile, ForkStrategy::thinking_off_quoted);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
  Json body = sent();
  EXPECT_EQ(at(body, GetParam().key), GetParam().value);
  const array& messages = at(body, "messages").get_array();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[1].at("content"), "Softmax, please.") << "the beginning is unchanged";
  EXPECT_EQ(messages[2].at("role"), "user");
  EXPECT_TRUE(text_at(messages[2], "content").contains("I will tile by 64."));
  bool has_options = !at(body, "stream_options").is_null();
  EXPECT_EQ(has_options, GetParam().profile != "zai");
  bool is_openai = GetParam().profile == "openai";
  EXPECT_EQ(at(body, is_openai ? "max_completion_tokens" : "max_tokens"), 900);
}

const Json kBothOff = object{{"enable_thinking", false}, {"thinking", false}};
INSTANTIATE_TEST_SUITE_P(
    Profiles, ReasoningOff,
    testing::Values(Switch{"vllm", "chat_template_kwargs", kBothOff},
                    Switch{"sglang", "chat_template_kwargs", kBothOff},
                    Switch{"llamacpp", "chat_template_kwargs", kBothOff},
                    Switch{"deepseek", "thinking", object{{"type", "disabled"}}},
                    Switch{"zai", "thinking", object{{"type", "disabled"}}},
                    Switch{"openrouter", "reasoning", object{{"effort", "none"}}},
                    Switch{"openai", "reasoning_effort", "none"},
                    Switch{"ollama", "reasoning_effort", "none"}),
    [](const auto& info) { return info.param.profile; });

class UserTurn : public Forks, public testing::WithParamInterface<std::string> {};

TEST_P(UserTurn, works_anywhere) {
  open(GetParam(), ForkStrategy::user_turn);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
  Json body = sent();
  EXPECT_TRUE(
      text_at(at(body, "messages").get_array().back(), "content").contains("do not deliberate"));
  // The answer may begin with prose: a stop at a fence would end it before its code.
  EXPECT_TRUE(at(body, "stop").is_null());
  EXPECT_TRUE(at(body, "chat_template_kwargs").is_null());
  EXPECT_TRUE(at(body, "thinking").is_null());
  EXPECT_NE(at(body, "reasoning_effort"), "none");
  EXPECT_EQ(header("X-Conversation-Id"), "");
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const ServerProfile& profile : server_profiles()) names.emplace_back(profile.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Profiles, UserTurn, testing::ValuesIn(profile_names()),
                         [](const auto& info) { return info.param; });

TEST_F(Forks, of_one_cut_share_a_request_if_the_server_supports_it) {
  open("llamacpp", ForkStrategy::raw_text);
  answer("/apply-template", R"({"prompt":"<P>"})", 200);
  answer("/v1/completions", text_answer(3));
  CallResult result = ask_well(fork_request_of(3));
  EXPECT_EQ(at(sent(1), "n"), 3);
  EXPECT_EQ(result.contents, (std::vector<std::string>{"int a0;", "int a1;", "int a2;"}));
  EXPECT_EQ(result.ended->reasons.size(), 3U);
  EXPECT_TRUE(result.ended->usage.estimated) << "this server counts one of them only";
}

TEST_F(Forks, of_one_cut_are_sent_concurrently_if_it_does_not) {
  open("deepseek", ForkStrategy::thinking_off_quoted);
  for (int i = 0; i < 3; ++i) answer("/v1/chat/completions", chat_answer());
  CallResult result = ask_well(fork_request_of(3));
  EXPECT_EQ(result.contents, (std::vector<std::string>(3, "int a0;")));
  EXPECT_TRUE(at(sent(0), "n").is_null());
  EXPECT_EQ(result.ended->reasons.size(), 3U);
  EXPECT_EQ(result.ended->usage.completion_tokens, 30);
  EXPECT_EQ(ledger_.totals().calls, 3);
  EXPECT_EQ(ledger_.totals().completion_tokens, 30);
}

TEST_F(Forks, that_are_refused_use_the_next_strategy_from_then_on) {
  open_free("llamacpp");
  ASSERT_EQ(model_->forks().front(), ForkStrategy::raw_text);
  answer("/apply-template", R"({"error":{"message":"no such path"}})", 404);
  answer("/v1/chat/completions", R"({"error":{"message":"no prefill"}})", 400);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
  EXPECT_EQ(model_->forks().front(), ForkStrategy::thinking_off_quoted);
  answer("/v1/chat/completions", chat_answer());
  ask_well(fork_request_of());
}

TEST_F(Forks, whose_material_timed_out_keep_their_strategy) {
  open_free("llamacpp");
  server_.expect({.path = "/apply-template", .steps = {wait_for_client()}});
  answer("/v1/chat/completions", chat_answer());
  Request request = fork_request_of();
  request.idle_timeout = 100ms;
  ask_well(request);
  EXPECT_EQ(model_->forks().front(), ForkStrategy::raw_text);
}

TEST_F(Forks, refused_by_every_strategy_report_the_first_refusal_and_change_nothing) {
  open_free("zai");
  answer("/v1/chat/completions", R"({"error":{"message":"too many tokens"}})", 400);
  answer("/v1/chat/completions", R"({"error":{"message":"still too many"}})", 400);
  CallResult result = ask(fork_request_of());
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->code, ErrorCode::model_refused);
  EXPECT_TRUE(result.error->text().contains("too many tokens")) << result.error->text();
  EXPECT_EQ(model_->forks().front(), ForkStrategy::thinking_off_quoted);
}

TEST_F(Forks, that_reason_nevertheless_demote_their_strategy) {
  open_free("zai");
  std::string thinks = sse_head() + reasoning_event("Hm.") + content_event("int a0;") +
                       finish_event("stop") + done_event() + last_chunk();
  for (int i = 0; i < 2; ++i) {
    answer("/v1/chat/completions", thinks);
    EXPECT_EQ(ask(fork_request_of()).reasoning, "Hm.");
  }
  EXPECT_EQ(model_->forks(), std::vector{ForkStrategy::user_turn});
}

TEST_F(Forks, with_tags_in_the_answer_count_as_reasoning) {
  open("llamacpp", ForkStrategy::raw_text);
  answer("/apply-template", R"({"prompt":"<P>"})", 200);
  answer("/v1/completions", sse_head() + text_event("<think>again</think>\n\nint b;") +
                                finish_event("stop") + done_event() + last_chunk());
  CallResult result = ask(fork_request_of());
  EXPECT_EQ(result.reasoning, "again");
  EXPECT_EQ(result.contents[0], "int b;");
}

TEST_F(Forks, with_an_unusual_affinity_send_a_hash_of_it) {
  open("vllm", ForkStrategy::user_turn);
  answer("/v1/chat/completions", chat_answer());
  Request request = fork_request_of();
  request.affinity = "a b\r\nX-Evil: 1";
  ask_well(request);
  EXPECT_EQ(header("X-Session-ID").size(), 32U);
  EXPECT_EQ(header("X-Evil"), "");
}

}  // namespace
}  // namespace specgen
