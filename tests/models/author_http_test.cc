// `specgen author` as a program, over sockets.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <charconv>

#include "base/json.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "generate/answer/extract.h"
#include "generate/author/author_text.h"
#include "generate/author/kernel_plan.h"
#include "generate/http/http_client.h"
#include "generate/prompt_context.h"
#include "runtime/race.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using boost::json::array;
using boost::json::object;

// A streamed answer.
struct Received {
  std::string reasoning, content;  // of the first choice
  std::size_t choices = 0;
  std::string finish;
  Json usage;
  bool done = false;
  bool names_itself = true;
  std::string order;  // r for reasoning, c for content, u for usage; runs are one letter
};

void add_event(Received& received, std::string_view data) {
  auto note = [&](char what) {
    if (!received.order.ends_with(what)) received.order += what;
  };
  if (data == "[DONE]") {
    received.done = true;
    return;
  }
  Json json = parse_json(data).value();
  received.names_itself = received.names_itself && text_at(json, "model") == "specgen-author" &&
                          text_at(json, "system_fingerprint").contains("not a language model");
  for (const Json& choice : json.at("choices").get_array()) {
    auto index = static_cast<std::size_t>(int_at(choice, "index"));
    received.choices = std::max(received.choices, index + 1);
    if (index > 0) continue;
    if (std::string finish = text_at(choice, "finish_reason"); !finish.empty())
      received.finish = finish;
    const Json* delta = member_at(choice, "delta");
    std::string reasoning = delta ? text_at(*delta, "reasoning_content") : std::string();
    std::string content = delta ? text_at(*delta, "content") : text_at(choice, "text");
    received.reasoning += reasoning;
    received.content += content;
    if (!reasoning.empty()) note('r');
    if (!content.empty()) note('c');
  }
  if (const Json* usage = member_at(json, "usage")) {
    received.usage = *usage;
    note('u');
  }
}

class AuthorHttp : public testing::Test {
 protected:
  void start(std::vector<std::string> more = {"--pace", "instant"}) {
    std::vector<std::string> arguments{SPECGEN_BINARY, "author", "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    process_.emplace(processes_.spawn({.argv = arguments}).value());
    std::string line = runtime_.loop.run(first_line_of(*process_->output));
    constexpr std::string_view kBefore = "listening on ";
    ASSERT_TRUE(line.starts_with(kBefore)) << line;
    root_ = line.substr(kBefore.size());
    root_.resize(root_.find("/v1"));
    client_ = HttpClient::open(runtime_.loop, runtime_.driver).value();
  }

  static Task<std::string> first_line_of(AsyncFd& output) {
    std::string line;
    std::array<char, 256> buffer;
    while (!line.contains('\n')) {
      auto n = co_await output.read_some(buffer);
      if (!n || *n == 0) break;
      line.append(buffer.data(), *n);
    }
    co_return line.substr(0, line.find('\n'));
  }

  HttpRequest post(std::string_view path, const Json& body) {
    HttpRequest request;
    request.method = "POST";
    request.url = root_ + std::string(path);
    request.headers = {{"Content-Type", "application/json"}};
    request.body = compact_json(body);
    return request;
  }
  HttpResponse answer(HttpRequest request) {
    return runtime_.loop.run(fetch(*client_, std::move(request))).value();
  }
  HttpResponse get(std::string_view path) {
    HttpRequest request;
    request.url = root_ + std::string(path);
    return answer(std::move(request));
  }
  Received stream(std::string_view path, object body) {
    body["stream"] = true;
    body["stream_options"] = object{{"include_usage", true}};
    HttpResponse response = answer(post(path, body));
    EXPECT_EQ(response.head.status, 200) << response.body;
    Received received;
    for (std::string_view line : split(response.body, '\n')) {
      if (line.starts_with("data: ")) add_event(received, line.substr(6));
    }
    return received;
  }

  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
  std::optional<Process> process_;
  std::unique_ptr<HttpClient> client_;
  std::string root_;
};

std::string prompt_for(std::uint64_t seed) {
  return "Make it fast.\n\n" + to_prompt_block({.task = "softmax", .backend = "cpu", .seed = seed});
}

array messages_for(std::uint64_t seed) {
  return {object{{"role", "user"}, {"content", prompt_for(seed)}}};
}

std::string kernel_in(const std::string& answer, std::string_view start = {}) {
  auto found = extract_kernel({.text = answer,
                               .finish = FinishReason::stop,
                               .backend = "cpu",
                               .parent = std::nullopt,
                               .answer_start = start});
  return found ? found->source : "no kernel: " + found.error().explanation;
}

TEST_F(AuthorHttp, streams_reasoning_then_content_then_usage_and_done) {
  start();
  Received received = stream("/v1/chat/completions", {{"messages", messages_for(1)}});
  EXPECT_EQ(received.order, "rcu");
  EXPECT_TRUE(received.done);
  EXPECT_EQ(received.finish, "stop");
  EXPECT_TRUE(received.names_itself);
  EXPECT_TRUE(kernel_in(received.content).starts_with("// author: "));
  EXPECT_GT(int_at(received.usage.at("completion_tokens_details"), "reasoning_tokens"), 500);
  EXPECT_EQ(int_at(received.usage, "total_tokens"),
            int_at(received.usage, "prompt_tokens") + int_at(received.usage, "completion_tokens"));
}

// A client that cancels must know the cost.
TEST_F(AuthorHttp, reports_usage_in_every_chunk_on_request) {
  start();
  HttpResponse response =
      answer(post("/v1/chat/completions",
                  object{{"messages", messages_for(1)},
                         {"stream", true},
                         {"stream_options",
                          object{{"include_usage", true}, {"continuous_usage_stats", true}}}}));
  std::vector<Usage> result;
  for (std::string_view line : split(response.body, '\n')) {
    if (!line.starts_with("data: {")) continue;
    Json chunk = parse_json(line.substr(6)).value();
    const Json* usage = member_at(chunk, "usage");
    const array& choices = chunk.at("choices").as_array();
    const Json* delta = choices.empty() ? nullptr : member_at(choices[0], "delta");
    const bool has_text =
        delta && (member_at(*delta, "content") || member_at(*delta, "reasoning_content"));
    EXPECT_TRUE(usage || !has_text) << line;
    if (!usage) continue;
    result.push_back({.prompt_tokens = int_at(*usage, "prompt_tokens"),
                      .completion_tokens = int_at(*usage, "completion_tokens")});
  }
  ASSERT_GT(result.size(), 100U);
  const Usage& final_one = result.back();  // of the last chunk
  for (std::size_t i = 0; i + 1 < result.size(); ++i) {
    EXPECT_EQ(result[i].prompt_tokens, final_one.prompt_tokens);
    EXPECT_LE(result[i].completion_tokens, result[i + 1].completion_tokens);
  }
  EXPECT_EQ(result[result.size() - 2].completion_tokens, final_one.completion_tokens);
  EXPECT_GT(result.front().completion_tokens, 0);
}

// The address in the first line of a recorder or replayer.
std::string address_in(const std::string& said) {
  auto start = said.find(" at http://");
  if (start == said.npos) return "nowhere: " + said;
  start += 4;
  return said.substr(start, said.find_first_of(" ;/", start + 7) - start);
}

TEST_F(AuthorHttp, a_recorded_conversation_is_replayed_byte_for_byte) {
  start();
  TemporaryFolder folder = TemporaryFolder::make().value();
  const std::string file = (folder.path() / "talk.cassette").string();
  const std::string author = root_;
  const object question{{"messages", messages_for(4)}, {"stream", true}, {"seed", 3}};
  const object fork{{"prompt", prompt_for(4) + "\n<think>\nI'll take `width = 8`.\n</think>\n\n"},
                    {"stream", true}};
  auto bodies = [&] {
    return std::pair(answer(post("/v1/chat/completions", question)).body,
                     answer(post("/v1/completions", fork)).body);
  };
  std::pair<std::string, std::string> recorded;
  {
    Process recorder = processes_
                           .spawn({.argv = {SPECGEN_BINARY, "record", "--listen", "127.0.0.1:0",
                                            "--upstream", author + "/v1", "--out", file}})
                           .value();
    root_ = address_in(runtime_.loop.run(first_line_of(*recorder.error_output)));
    recorded = bodies();
    ASSERT_EQ(::kill(recorder.pid(), SIGINT), 0);
    runtime_.loop.run(recorder.wait());
  }
  EXPECT_TRUE(recorded.first.contains("reasoning_content"));
  EXPECT_TRUE(recorded.second.contains("[DONE]"));
  process_.reset();  // the author is gone
  Process replayer = processes_
                         .spawn({.argv = {SPECGEN_BINARY, "replay", file, "--listen", "127.0.0.1:0",
                                          "--pace", "instant"}})
                         .value();
  root_ = address_in(runtime_.loop.run(first_line_of(*replayer.error_output)));
  EXPECT_EQ(bodies(), recorded);
}

TEST_F(AuthorHttp, answers_over_http_as_in_process) {
  start();
  Received received = stream("/v1/chat/completions", {{"messages", messages_for(2)}, {"seed", 5}});
  Request request;
  request.messages = {{Speaker::user, prompt_for(2)}};
  request.sampling.seed = 5;
  AuthorText expected = author_text({}, request, 0).value();
  EXPECT_EQ(received.reasoning, expected.reasoning);
  EXPECT_EQ(received.content, expected.content);
}

TEST_F(AuthorHttp, a_raw_prompt_that_closes_its_reasoning_is_answered_at_once) {
  start({"--pace", "instant", "--mistakes", "0"});
  const KernelPlan& plan = *find_plan("softmax", "cpu");
  HttpResponse rendered = answer(post("/apply-template", object{{"messages", messages_for(1)}}));
  std::string prompt = text_at(parse_json(rendered.body).value(), "prompt");
  ASSERT_TRUE(prompt.ends_with("<think>\n"));
  prompt += "The rows are short. I'll take `width = 8`.\n\nThen I'll take `exp = poly";
  Received received = stream("/v1/completions", {{"prompt", prompt + "\n</think>\n\n"}});
  EXPECT_EQ(kernel_in(received.content), plan.write({{"width", "8"}}));
  EXPECT_TRUE(received.done);

  std::string start = "```cpp\n";
  received =
      stream("/v1/completions", {{"prompt", prompt + "\n</think>\n\n" + start}, {"stop", "\n```"}});
  EXPECT_FALSE(received.content.contains("```"));
  EXPECT_EQ(start + received.content + "\n```\n", start + plan.write({{"width", "8"}}) + "```\n");
}

TEST_F(AuthorHttp, a_raw_prompt_with_open_reasoning_continues_it) {
  start();
  Received whole = stream("/v1/chat/completions", {{"messages", messages_for(3)}});
  std::string prompt = "<|user|>\n" + prompt_for(3) + "\n<|assistant|>\n<think>\n";
  Received rest = stream("/v1/completions", {{"prompt", prompt + whole.reasoning.substr(0, 800)}});
  EXPECT_EQ(rest.content, whole.reasoning.substr(800) + "</think>\n\n" + whole.content);
}

TEST_F(AuthorHttp, a_prefill_is_a_fork) {
  start({"--pace", "instant", "--mistakes", "0"});
  const KernelPlan& plan = *find_plan("softmax", "cpu");
  std::string reasoning = "So. I'll take `accumulators = 4`.";
  for (const object& last :
       {object{{"role", "assistant"}, {"reasoning_content", reasoning}, {"content", "\n"}},
        object{{"role", "assistant"}, {"content", "<think>\n" + reasoning + "\n</think>\n\n"}},
        object{{"role", "assistant"}, {"content", reasoning + "</think>"}}}) {
    array messages = messages_for(1);
    messages.push_back(last);
    Received received = stream("/v1/chat/completions", {{"messages", messages}});
    EXPECT_EQ(received.reasoning, "");
    EXPECT_EQ(kernel_in(received.content), plan.write({{"accumulators", "4"}}));
  }
}

TEST_F(AuthorHttp, reasoning_can_be_switched_off_in_every_way) {
  start();
  for (const object& off :
       {object{{"chat_template_kwargs", object{{"enable_thinking", false}}}},
        object{{"chat_template_kwargs", object{{"thinking", false}}}},
        object{{"reasoning_effort", "none"}}, object{{"thinking", object{{"type", "disabled"}}}},
        object{{"reasoning", object{{"effort", "none"}}}}}) {
    object body = off;
    body["messages"] = messages_for(1);
    Received received = stream("/v1/chat/completions", body);
    EXPECT_EQ(received.reasoning, "");
    EXPECT_TRUE(kernel_in(received.content).starts_with("// author: "));
  }
}

TEST_F(AuthorHttp, gives_several_answers_and_respects_the_limit_on_tokens) {
  start();
  Received received =
      stream("/v1/chat/completions", {{"messages", messages_for(1)}, {"n", 3}, {"max_tokens", 50}});
  EXPECT_EQ(received.choices, 3U);
  EXPECT_EQ(received.finish, "length");
  EXPECT_EQ(int_at(received.usage, "completion_tokens"), 150);
}

TEST_F(AuthorHttp, answers_in_one_piece_without_a_stream) {
  start();
  HttpResponse response =
      answer(post("/v1/chat/completions", object{{"messages", messages_for(1)}}));
  Json json = parse_json(response.body).value();
  const Json& message = json.at("choices").at(0).at("message");
  EXPECT_FALSE(text_at(message, "reasoning_content").empty());
  EXPECT_TRUE(kernel_in(text_at(message, "content")).starts_with("// author: "));
  EXPECT_GT(int_at(json.at("usage"), "completion_tokens"), 500);
}

TEST_F(AuthorHttp, bad_requests_are_refused_with_a_message) {
  start();
  auto refusal = [&](HttpRequest request) {
    HttpResponse response = answer(std::move(request));
    Json json = parse_json(response.body).value();
    return fmt::format("{}: {}", response.head.status, text_at(json.at("error"), "message"));
  };
  HttpRequest broken = post("/v1/chat/completions", object{});
  broken.body = "{";
  EXPECT_TRUE(refusal(broken).starts_with("400: "));
  EXPECT_EQ(refusal(post("/v1/chat/completions", object{})),
            "400: messages is not a list of at least one message");
  EXPECT_EQ(refusal(post("/v1/chat/completions", object{{"model", "gpt"}})),
            "404: there is no model 'gpt' here, only specgen-author");
  EXPECT_EQ(refusal(post("/v1/completions", object{{"prompt", array{1, 2}}})),
            "400: prompt is not one text; the author has no token ids");
  EXPECT_EQ(refusal(post("/v1/completions", object{{"prompt", "x"}, {"n", 1000}})),
            "400: n is not between 1 and 64");
  EXPECT_EQ(refusal(post("/v1/embeddings", object{})), "404: there is no endpoint /v1/embeddings");
  EXPECT_EQ(refusal(post("/v1/models", object{})), "405: /v1/models needs GET");
  std::string damaged = "```specgen-context\n{\"task\": 7}\n```\n";
  EXPECT_TRUE(refusal(post("/v1/completions", object{{"prompt", damaged}}))
                  .starts_with("400: specgen-context: "));
}

// Not the unchanged source: a client that expects a faster kernel must notice.
TEST_F(AuthorHttp, a_prompt_for_a_task_without_a_plan_is_refused) {
  start();
  const std::string prompt =
      "Make it fast.\n\n" +
      to_prompt_block({.task = "tensor_train", .backend = "cuda", .baseline = "void f() {}"});
  for (bool streamed : {false, true}) {
    HttpResponse response =
        answer(post("/v1/chat/completions",
                    object{{"messages", array{object{{"role", "user"}, {"content", prompt}}}},
                           {"stream", streamed}}));
    EXPECT_EQ(response.head.status, 404);
    Json error = parse_json(response.body).value().at("error");
    std::string message = text_at(error, "message");
    EXPECT_TRUE(
        message.contains("the built-in author has no plan for task 'tensor_train' on "
                         "backend 'cuda': use a language model"))
        << message;
    EXPECT_EQ(text_at(error, "type"), "not_found_error");
  }
  EXPECT_EQ(answer(post("/v1/completions", object{{"prompt", prompt}})).head.status, 404);
}

TEST_F(AuthorHttp, says_that_it_is_not_a_language_model) {
  start();
  Json models = parse_json(get("/v1/models").body).value();
  EXPECT_EQ(text_at(models.at("data").at(0), "id"), "specgen-author");
  EXPECT_TRUE(text_at(models.at("data").at(0), "description").contains("not a language model"));
  EXPECT_EQ(get("/health").head.status, 200);
}

TEST_F(AuthorHttp, a_client_that_disconnects_cancels_its_stream) {
  start({"--pace", "20"});
  auto exchange = client_->send(
      post("/v1/chat/completions", object{{"messages", messages_for(1)}, {"stream", true}}));
  runtime_.loop.run([](HttpExchange& it) -> Task<void> { (void)co_await it.read(); }(*exchange));
  EXPECT_TRUE(get("/metrics").body.contains("requests_processing 1"));
  exchange.reset();
  for (int i = 0; i < 500 && !get("/metrics").body.contains("requests_processing 0"); ++i) {
    runtime_.loop.run(nap(runtime_.loop, 10ms));
  }
  EXPECT_TRUE(get("/metrics").body.contains("requests_processing 0"));
}

TEST_F(AuthorHttp, a_bad_address_or_pace_is_a_usage_error) {
  auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "author"});
    return runtime_.loop.run(processes_.run({.argv = arguments, .time_limit = 20s})).value();
  };
  EXPECT_EQ(run({"--listen", "nowhere"}).exit.code, 2);
  EXPECT_EQ(run({"--listen", "127.0.0.1:0", "--pace", "slow"}).exit.code, 2);
  EXPECT_EQ(run({"--listen", "127.0.0.1:0", "--mistakes", "2"}).exit.code, 2);
  EXPECT_EQ(run({}).exit.code, 2);
}

}  // namespace
}  // namespace specgen
