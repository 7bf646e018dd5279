// Probes against scripted servers with many, few or no capabilities.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "generate/author/author_service.h"
#include "generate/call_ledger.h"
#include "generate/open_model.h"
#include "generate/openai/probe.h"
#include "runtime/testing.h"
#include "support/scripted_server.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::string stream_of(std::initializer_list<std::string> events, std::string usage) {
  std::string all = sse_head();
  for (const std::string& event : events) all += event;
  return all + finish_event("stop") + usage + done_event() + last_chunk();
}

class Probes : public testing::Test {
 protected:
  Probes() { group_.spawn(server_.serve()); }

  ProbeReport probe_as(std::string_view profile, bool guessed = false) {
    OpenAiOptions options;
    options.name = "scripted";
    options.wire.url = parse_endpoint_url(server_.url()).value();
    options.wire.model = "qwen3-8b";
    options.wire.profile = find_profile(profile).value();
    options.profile_is_guess = guessed;
    options.wire.family = &family_of(options.wire.model);
    options.key = "sk-secret-123456";
    options.retry.attempts = 1;
    model_ = std::make_unique<OpenAiModel>(
        runtime_.loop, HttpClient::open(runtime_.loop, runtime_.driver).value(),
        std::make_shared<EndpointGate>(runtime_.loop, GateOptions{}), ledger_, std::move(options));
    ProbeReport report = runtime_.loop.run(probe(runtime_.loop, *model_, 2s));
    EXPECT_EQ(server_.complaints(), std::vector<std::string>{});
    for (const ProbeStep& step : report.steps) {
      EXPECT_FALSE((step.detail + step.advice).contains("sk-secret"));
    }
    return report;
  }
  void answer(std::string path, std::string bytes) {
    server_.expect({.path = std::move(path), .steps = {send(std::move(bytes)), next_request()}});
  }
  void answer_json(std::string path, std::string body, int status = 200) {
    answer(std::move(path), plain_answer(status, "application/json", body));
  }
  void list_models() {
    answer_json("/v1/models", R"({"data":[{"id":"qwen3-8b","owned_by":"llamacpp"}]})");
  }
  void think() {
    answer("/v1/chat/completions",
           stream_of({reasoning_event("17*23 "), reasoning_event("is 391."), content_event("391")},
                     usage_event(20, 12, 0)));
  }
  // A long answer that the client cancels, and the values of /metrics afterwards.
  void let_cancel(std::vector<int> running) {
    server_.expect({.path = "/v1/chat/completions",
                    .steps = {send(sse_head() + content_event("one ") + content_event("two ") +
                                   content_event("three ")),
                              wait_for_client()}});
    for (int number : running) {
      answer("/metrics",
             plain_answer(200, "text/plain",
                          fmt::format("# HELP x\nllamacpp:requests_processing {}\n", number)));
    }
  }
  void repeat_prompt(int cached) {
    for (int i = 0; i < 2; ++i) {
      answer("/v1/chat/completions",
             stream_of({content_event("yes")}, usage_event(1000, 1, i == 0 ? 0 : cached)));
    }
  }
  // As llama.cpp's server does.
  void can_everything() {
    list_models();
    think();
    answer_json("/apply-template", R"({"prompt":"<P>"})");
    answer("/v1/completions", stream_of({text_event("quince-4711")}, usage_event(30, 4)));
    let_cancel({1, 0});
    repeat_prompt(990);
  }
  static const ProbeStep& step(const ProbeReport& report, std::string_view id) {
    static const ProbeStep kNone{.id = "none", .name = {}, .detail = {}, .advice = {}};
    auto found = std::ranges::find(report.steps, id, &ProbeStep::id);
    return found == report.steps.end() ? kNone : *found;
  }

  RealRuntime runtime_;
  CallLedger ledger_;
  ScriptedServer server_{runtime_.loop, runtime_.driver};
  TaskGroup group_{runtime_.loop};
  std::unique_ptr<OpenAiModel> model_;
};

TEST_F(Probes, of_a_fully_capable_server_are_good) {
  can_everything();
  ProbeReport report = probe_as("llamacpp");
  EXPECT_TRUE(report.usable());
  EXPECT_EQ(report.traits.fork, ForkStrategy::raw_text);
  EXPECT_EQ(model_->forks().front(), ForkStrategy::raw_text);
  for (std::string_view id :
       {"reachable", "profile", "streams", "reasoning", "usage", "fork", "cancel", "cache"}) {
    EXPECT_EQ(step(report, id).finding, ProbeFinding::good)
        << id << ": " << step(report, id).detail;
  }
  EXPECT_EQ(server_.scenes_left(), 0U);
  EXPECT_EQ(ledger_.records().size(), 5U);
}

TEST_F(Probes, believe_a_server_that_names_itself_where_the_profile_is_a_guess) {
  can_everything();
  ProbeReport report = probe_as("generic", /*guessed=*/true);
  EXPECT_EQ(model_->wire().profile->name, "llamacpp");
  EXPECT_EQ(model_->forks().front(), ForkStrategy::raw_text);
  EXPECT_EQ(step(report, "profile").finding, ProbeFinding::good);
  EXPECT_EQ(server_.scenes_left(), 0U);
}

TEST_F(Probes, try_strategies_in_order) {
  list_models();
  think();
  answer_json("/apply-template", R"({"prompt":"<P>"})");
  answer("/v1/completions", stream_of({text_event("banana")}, usage_event(30, 4)));
  answer(
      "/v1/chat/completions",  // prefill
      stream_of({reasoning_event("Hm, a word"), content_event("quince-4711")}, usage_event(30, 4)));
  answer("/v1/chat/completions", stream_of({content_event("quince-4711")}, usage_event(30, 4)));
  let_cancel({0});
  repeat_prompt(0);
  ProbeReport report = probe_as("llamacpp");
  EXPECT_EQ(report.traits.fork, ForkStrategy::thinking_off_quoted);
  ASSERT_EQ(report.forks.size(), 4U);
  EXPECT_EQ(report.forks[1].detail, "it does not know the given reasoning");
  EXPECT_EQ(report.forks[2].detail, "it reasons again");
  EXPECT_EQ(step(report, "cache").finding, ProbeFinding::limited);
}

TEST_F(Probes, find_reasoning_that_has_no_opening_tag) {
  list_models();
  answer("/v1/chat/completions",
         stream_of({content_event("Hm, 391."), content_event("</think>\n\n"), content_event("391")},
                   usage_event(20, 12)));
  answer("/v1/chat/completions", stream_of({content_event("quince-4711")}, usage_event(30, 4)));
  let_cancel({});
  answer("/v1/chat/completions", stream_of({content_event("yes")}, usage_event(5, 1)));
  repeat_prompt(-1);
  ProbeReport report = probe_as("generic");
  EXPECT_EQ(report.traits.opener, ThinkSplitter::Opener::in_prompt);
  EXPECT_EQ(step(report, "cancel").finding, ProbeFinding::unknown);
  EXPECT_EQ(step(report, "cache").finding, ProbeFinding::unknown);
}

TEST_F(Probes, of_a_server_that_ignores_the_reasoning_are_limited) {
  list_models();
  think();
  answer("/v1/chat/completions", stream_of({content_event("apple")}, usage_event(30, 4)));
  answer("/v1/chat/completions", stream_of({content_event("pear")}, usage_event(30, 4)));
  let_cancel({});
  answer("/v1/chat/completions", stream_of({content_event("yes")}, usage_event(5, 1)));
  repeat_prompt(990);
  ProbeReport report = probe_as("generic");
  EXPECT_EQ(step(report, "fork").finding, ProbeFinding::limited);
  EXPECT_EQ(report.traits.fork, ForkStrategy::prefill) << "the best of those that answer";
  EXPECT_TRUE(report.usable());
}

TEST_F(Probes, of_a_page_end_early) {
  answer("/v1/models", plain_answer(200, "text/html", "<html>Welcome</html>"));
  answer("/v1/chat/completions", plain_answer(200, "text/html", "<html>Welcome</html>"));
  ProbeReport report = probe_as("generic");
  EXPECT_FALSE(report.usable());
  EXPECT_EQ(step(report, "streams").finding, ProbeFinding::bad);
  EXPECT_TRUE(step(report, "streams").detail.contains("text/html"));
}

TEST_F(Probes, with_a_wrong_key_say_so) {
  answer_json("/v1/models", R"({"error":{"message":"no"}})", 401);
  ProbeReport report = probe_as("openai");
  EXPECT_FALSE(report.usable());
  EXPECT_TRUE(step(report, "reachable").detail.contains("key"));
  EXPECT_EQ(ledger_.records().size(), 0U) << "no call that costs tokens";
}

TEST_F(Probes, suggest_the_matching_profile) {
  list_models();
  answer("/v1/chat/completions", plain_answer(500, "text/plain", "broken"));
  ProbeReport report = probe_as("generic");
  EXPECT_TRUE(step(report, "profile").advice.contains("\"llamacpp\""));
}

// The author over HTTP, opened like any other server.
TEST_F(Probes, of_the_author_s_server_show_a_usable_server) {
  AuthorService service(runtime_.loop, author_at_pace("instant").value());
  auto http = HttpServer::listen(runtime_.loop, runtime_.driver, "127.0.0.1:0",
                                 [&](HttpServerRequest request, HttpReply& reply) {
                                   return service.handle(std::move(request), reply);
                                 })
                  .value();
  group_.spawn(http->serve());
  ModelServices services(runtime_.loop, runtime_.driver, ledger_);
  NamedModel named{.name = "author-server",
                   .url = fmt::format("http://127.0.0.1:{}/v1", http->port()),
                   .model = std::string(kAuthorName)};
  auto model = open_server_model(services, "author-server", std::span(&named, 1)).value();
  ProbeReport report = runtime_.loop.run(probe(runtime_.loop, *model, 5s));
  for (std::string_view id : {"reachable", "reasoning", "usage"}) {
    EXPECT_EQ(step(report, id).finding, ProbeFinding::good)
        << id << ": " << step(report, id).detail;
  }
  EXPECT_EQ(step(report, "profile").detail, "specgen, as the server says");
  EXPECT_EQ(model->forks(), std::vector{ForkStrategy::prefill});
  EXPECT_FALSE(model->info().is_language_model);
  auto other = open_server_model(services, "author-server", std::span(&named, 1)).value();
  runtime_.loop.run(identify_server(*other, 5s));
  EXPECT_EQ(other->wire().profile->name, "specgen");
  EXPECT_TRUE(report.usable());
  for (const TriedFork& tried : report.forks) {
    EXPECT_FALSE(tried.detail.starts_with("error"))
        << to_string(tried.strategy) << ": " << tried.detail;
  }
  group_.cancel();
}

}  // namespace
}  // namespace specgen
