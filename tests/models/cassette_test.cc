// Cassettes end to end: a small upstream, the recorder in front of it, and the replayer and the
// in-process model that play the file.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "generate/call_ledger.h"
#include "generate/cassette/cassette_for_tests.h"
#include "generate/cassette/cassette_format.h"
#include "generate/cassette/cassette_model.h"
#include "generate/cassette/recorder.h"
#include "generate/cassette/replayer.h"
#include "generate/open_model.h"
#include "runtime/race.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

const std::string kKey = "sk-very-secret-0123456789";
const std::string kStream = chat_chunk("reasoning_content", "A tile of 64 it is, by all means. ") +
                            chat_chunk("reasoning_content", "Or 128?") +
                            chat_chunk("content", "int x;") + last_chunks(11, 22);

struct Answered {
  int status = 0;
  HttpHeaders headers;
  std::string body;
  std::optional<Error> broken;
};

// An upstream, a recorder in front of it, and later a replayer instead.
class Cassettes : public testing::Test {
 protected:
  void SetUp() override {
    upstream_ = serve([this](HttpServerRequest request, HttpReply& reply) {
      return upstream(std::move(request), reply);
    });
    writer_ = CassetteWriter::open(loop(), runtime_.driver, file(), WriteMode::create).value();
    record(url(*upstream_));
  }

  Loop& loop() { return runtime_.loop; }
  std::filesystem::path file() const { return folder_.path() / "a.cassette"; }
  static std::string url(const HttpServer& server) {
    return fmt::format("http://127.0.0.1:{}", server.port());
  }

  HttpServer* serve(HttpServer::Handler handler) {
    servers_.push_back(
        HttpServer::listen(loop(), runtime_.driver, "127.0.0.1:0", std::move(handler)).value());
    group_.spawn(servers_.back()->serve());
    return servers_.back().get();
  }
  void record(const std::string& upstream_url) {
    recorder_ = std::make_unique<Recorder>(loop(), *client_, *writer_, upstream_url);
    proxy_ = serve([this](HttpServerRequest request, HttpReply& reply) {
      return recorder_->answer(std::move(request), reply);
    });
  }
  void replay(Pace pace = {.speed = 1, .instant = true}) {
    replayer_ = std::make_unique<Replayer>(loop(), recorded(), pace);
    replaying_ = serve(replayer_->handler());
  }
  // The content of the file after the recording was closed.
  Cassette recorded() {
    auto closed = loop().run(writer_->close());
    EXPECT_TRUE(closed) << closed.error().text();
    auto cassette = read_cassette(file());
    EXPECT_TRUE(cassette) << cassette.error().text();
    return cassette ? std::move(*cassette) : Cassette{};
  }

  Task<Result<void>> upstream(HttpServerRequest request, HttpReply& reply) {
    seen_.push_back(request.method + " " + request.target);
    seen_headers_ = request.headers;
    if (request.path == "/v1/models") {
      co_return co_await reply.send(200, {{"Content-Type", "application/json"}}, "{\"data\":[]}");
    }
    if (request.path == "/bytes") {
      CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/plain"}}));
      for (const char* piece : {"h\xc3", "\xa4\xff", "\n\r\t\"\\", "\x01\x7f"}) {
        CO_TRY(co_await reply.write(piece));
        co_await loop().sleep(2ms);
      }
      co_return co_await reply.end();
    }
    if (request.path == "/refuse") {
      co_return co_await reply.send(
          401, {{"Content-Type", "application/json"}, {"Set-Cookie", "id=" + kKey}},
          "{\"error\":{\"message\":\"wrong key " + kKey + "\"}}");
    }
    if (request.path == "/break") {
      CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/event-stream"}}));
      CO_TRY(co_await reply.write("data: half"));
      co_await loop().sleep(5ms);
      co_return fail(ErrorCode::timeout, "no more");
    }
    CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/event-stream"}}));
    LogOnDestroy at_end(log_, "upstream gone");
    for (std::size_t at = 0; at < kStream.size(); at += 50) {
      CO_TRY(co_await reply.write(kStream.substr(at, 50)));
      if (request.path == "/forever" && at > 50) co_await loop().sleep(1h);
    }
    co_return co_await reply.end();
  }

  Task<Answered> ask(std::string to, HttpRequest request) {
    request.url = to + request.url;
    auto exchange = client_->send(std::move(request));
    Answered answered;
    auto head = co_await exchange->head();
    if (!head) {
      answered.broken = head.error();
      co_return answered;
    }
    answered.status = head->status;
    answered.headers = head->headers;
    while (true) {
      auto piece = co_await exchange->read();
      if (!piece) answered.broken = piece.error();
      if (!piece || !*piece) co_return answered;
      answered.body += **piece;
    }
  }
  Answered get(const HttpServer& server, HttpRequest request) {
    return loop().run(ask(url(server), std::move(request)));
  }
  static HttpRequest post(std::string path, std::string body) {
    HttpRequest request;
    request.method = "POST";
    request.url = std::move(path);
    request.headers = {{"Content-Type", "application/json"}};
    request.secret_header = "Authorization: Bearer " + kKey;
    request.body = std::move(body);
    return request;
  }
  static HttpRequest plain(std::string path) {
    HttpRequest request;
    request.url = std::move(path);
    return request;
  }

  RealRuntime runtime_;
  TemporaryFolder folder_ = TemporaryFolder::make().value();
  Log log_;
  std::vector<std::string> seen_;
  HttpHeaders seen_headers_;
  std::unique_ptr<HttpClient> client_ = HttpClient::open(runtime_.loop, runtime_.driver).value();
  std::unique_ptr<CassetteWriter> writer_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Replayer> replayer_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  HttpServer* upstream_ = nullptr;
  HttpServer* proxy_ = nullptr;
  HttpServer* replaying_ = nullptr;
  TaskGroup group_{runtime_.loop};  // last: its tasks use the other members
};

const std::string kChat =
    R"({"stream":true,"messages":[{"role":"user","content":"Make it fast."}],"model":"m"})";

TEST_F(Cassettes, a_recording_is_replayed_byte_for_byte) {
  std::vector<HttpRequest> requests{plain("/v1/models"), plain("/bytes"),
                                    post("/v1/chat/completions", kChat), post("/refuse", "{}")};
  std::vector<Answered> live;
  for (const HttpRequest& request : requests) live.push_back(get(*proxy_, request));
  EXPECT_EQ(live[0].body, "{\"data\":[]}");
  EXPECT_EQ(live[1].body, "h\xc3\xa4\xff\n\r\t\"\\\x01\x7f");
  EXPECT_EQ(live[2].body, kStream);
  EXPECT_EQ(live[3].status, 401);
  replay();
  std::size_t asked = seen_.size();
  for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
    Answered again = get(*replaying_, requests[i]);
    EXPECT_EQ(again.status, live[i].status);
    EXPECT_EQ(again.body, live[i].body);
    EXPECT_EQ(header_value(again.headers, "content-type"),
              header_value(live[i].headers, "content-type"));
    EXPECT_EQ(header_value(again.headers, "x-specgen-replay"), "exact");
  }
  EXPECT_EQ(get(*replaying_, requests[3]).status, 401);
  EXPECT_EQ(seen_.size(), asked) << "a replay must not use the upstream";
}

TEST_F(Cassettes, pieces_are_forwarded_as_they_arrive) {
  Answered answered = get(*proxy_, plain("/bytes"));
  Cassette cassette = recorded();
  ASSERT_EQ(cassette.exchanges.size(), 1u);
  const RecordedExchange& exchange = cassette.exchanges[0];
  EXPECT_GE(exchange.pieces.size(), 2u);
  EXPECT_EQ(exchange.body(), answered.body);
  EXPECT_GE(exchange.pieces.back().after, 4ms);
  EXPECT_EQ(exchange.end, ExchangeEnd::complete);
}

TEST_F(Cassettes, a_key_reaches_the_upstream_and_never_the_file) {
  HttpRequest request =
      post("/refuse?api_key=" + kKey + "&limit=3", "{\"api_key\":\"" + kKey + "\"}");
  request.headers.emplace_back("X-Api-Key", kKey);
  request.headers.emplace_back("Cookie", "session=" + kKey);
  Answered answered = get(*proxy_, request);
  EXPECT_NE(answered.body.find(kKey), std::string::npos);  // the client's answer is unchanged
  EXPECT_EQ(header_value(seen_headers_, "authorization"), "Bearer " + kKey);
  EXPECT_EQ(header_value(seen_headers_, "x-api-key"), kKey);
  EXPECT_NE(seen_.back().find(kKey), std::string::npos);
  Cassette cassette = recorded();
  std::string bytes = read_file(file()).value();
  EXPECT_EQ(bytes.find(kKey), std::string::npos);
  EXPECT_EQ(bytes.find("very-secret"), std::string::npos);
  EXPECT_EQ(cassette.exchanges[0].request.target, "/refuse?limit=3");
  replay();  // without a key, and with another
  for (std::string key : {std::string(), std::string("sk-another-key-987654")}) {
    HttpRequest again = request;
    again.secret_header = key.empty() ? "" : "Authorization: Bearer " + key;
    EXPECT_EQ(get(*replaying_, again).status, 401);
  }
}

Task<std::string> read_once_and_leave(HttpClient& client, HttpRequest request) {
  auto exchange = client.send(std::move(request));
  auto head = co_await exchange->head();
  auto piece = co_await exchange->read();
  co_return head&& piece && *piece ? **piece : std::string();
}

Task<void> until(Loop& loop, std::function<bool()> so) {
  while (!so()) co_await loop.sleep(1ms);
}

TEST_F(Cassettes, a_client_that_disconnects_cancels_its_upstream_request) {
  HttpRequest request = post(url(*proxy_) + "/forever", "{}");
  std::string came = loop().run(read_once_and_leave(*client_, std::move(request)));
  EXPECT_FALSE(came.empty());
  auto gone = loop().run(with_timeout(
      loop(), 10s, until(loop(), [&] { return log_ == Log{"upstream gone"}; }), "cancel"));
  EXPECT_TRUE(gone) << gone.error().text();
  EXPECT_EQ(recorder_->counts().cancelled, 1u);
  EXPECT_EQ(recorder_->counts().open, 0u);
  Cassette cassette = recorded();
  ASSERT_EQ(cassette.exchanges.size(), 1u);
  EXPECT_EQ(cassette.exchanges[0].end, ExchangeEnd::cancelled);
  EXPECT_TRUE(cassette.exchanges[0].body().starts_with(came));
  replay();
  Answered again = get(*replaying_, post("/forever", "{}"));
  EXPECT_TRUE(again.broken) << "half an answer was replayed as a complete one";
  EXPECT_EQ(again.body, cassette.exchanges[0].body());
}

TEST_F(Cassettes, an_answer_that_breaks_off_breaks_off_again) {
  Answered live = get(*proxy_, post("/break", "{}"));
  EXPECT_TRUE(live.broken);
  EXPECT_EQ(live.body, "data: half");
  EXPECT_EQ(recorded().exchanges[0].end, ExchangeEnd::failed);
  replay();
  Answered again = get(*replaying_, post("/break", "{}"));
  EXPECT_TRUE(again.broken);
  EXPECT_EQ(again.body, live.body);
}

TEST_F(Cassettes, an_unreachable_upstream_is_recorded_too) {
  record("http://127.0.0.1:1");
  Answered live = get(*proxy_, plain("/v1/models"));
  EXPECT_EQ(live.status, 502);
  EXPECT_NE(live.body.find("upstream_error"), std::string::npos);
  EXPECT_EQ(recorded().exchanges[0].end, ExchangeEnd::failed);
  replay();
  EXPECT_EQ(get(*replaying_, plain("/v1/models")).status, 502);
}

TEST_F(Cassettes, a_request_that_was_not_recorded_is_a_404) {
  get(*proxy_, post("/v1/chat/completions", kChat));
  replay();
  Answered other = get(*replaying_, plain("/v1/files"));
  EXPECT_EQ(other.status, 404);
  EXPECT_NE(other.body.find("GET /v1/files was never recorded"), std::string::npos) << other.body;
}

TEST_F(Cassettes, a_fork_that_was_not_recorded_is_answered_from_the_nearest_and_marked) {
  auto fork = [](std::string_view reasoning) {
    return post(
        "/v1/chat/completions",
        fmt::format(
            R"({{"stream":true,"messages":[{{"role":"user","content":"Make it fast."}},)"
            R"({{"role":"assistant","reasoning_content":"{}","content":"x"}}],"model":"m"}})",
            reasoning));
  };
  get(*proxy_, post("/v1/chat/completions", kChat));
  Answered live = get(*proxy_, fork("A tile of 64 it is,"));
  replay();
  Answered near = get(*replaying_, fork("A tile of 64 it is, by all means. Or"));
  EXPECT_EQ(near.status, 200);
  EXPECT_EQ(near.body, live.body);
  EXPECT_EQ(header_value(near.headers, "x-specgen-replay"), "nearest");
  EXPECT_EQ(replayer_->counts().nearest, 1u);
}

Task<Result<std::vector<StreamEvent>>> hear(Model& model, Request request) {
  auto generation = CO_TRY(co_await model.start(std::move(request)));
  std::vector<StreamEvent> events;
  while (events.empty() || !std::holds_alternative<Ended>(events.back())) {
    events.push_back(CO_TRY(co_await generation->next()));
  }
  co_return events;
}

std::string text_of(const std::vector<StreamEvent>& events, DeltaKind kind) {
  std::string text;
  for (const StreamEvent& event : events) {
    const auto* delta = std::get_if<Delta>(&event);
    if (delta && delta->kind == kind) text += delta->text;
  }
  return text;
}

TEST_F(Cassettes, a_cassette_in_process_gives_the_server_s_answer) {
  CallLedger ledger;
  ModelServices services(loop(), runtime_.driver, ledger);
  auto live = open_server_model(services, "openai:m@" + url(*proxy_), {});
  ASSERT_TRUE(live) << live.error().text();
  Request request;
  request.messages = {{Speaker::system, "You write kernels."}, {Speaker::user, "Make it fast."}};
  auto received = loop().run(hear(**live, request));
  ASSERT_TRUE(received) << received.error().text();
  recorded();
  auto cassette = open_cassette(loop(), ledger, file(), {.speed = 1, .instant = true});
  ASSERT_TRUE(cassette) << cassette.error().text();
  auto again = loop().run(hear(**cassette, request));
  ASSERT_TRUE(again) << again.error().text();
  for (DeltaKind kind : {DeltaKind::reasoning, DeltaKind::content}) {
    EXPECT_FALSE(text_of(*received, kind).empty());
    EXPECT_EQ(text_of(*again, kind), text_of(*received, kind));
  }
  const Usage& usage = std::get<Ended>(again->back()).usage;
  EXPECT_EQ(usage.completion_tokens, 22);
  EXPECT_EQ(usage.prompt_tokens, 11);
}

TEST_F(Cassettes, an_existing_file_is_not_overwritten_but_may_be_appended_to) {
  get(*proxy_, plain("/v1/models"));
  recorded();
  auto locked = CassetteWriter::open(loop(), runtime_.driver, file(), WriteMode::append);
  ASSERT_FALSE(locked);
  EXPECT_NE(locked.error().context.find("another process"), std::string::npos);
  recorder_.reset();
  writer_.reset();
  auto refused = CassetteWriter::open(loop(), runtime_.driver, file(), WriteMode::create);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), ExitCode::usage);
  EXPECT_NE(refused.error().what_to_do().find("--append"), std::string::npos);

  // As if the recorder had been killed in the middle of a record.
  std::string bytes = read_file(file()).value();
  ASSERT_TRUE(write_file_durably(file(), bytes + "{\"crc\":\"0123"));
  writer_ = CassetteWriter::open(loop(), runtime_.driver, file(), WriteMode::append).value();
  record(url(*upstream_));
  get(*proxy_, plain("/bytes"));
  Cassette cassette = recorded();
  EXPECT_FALSE(cassette.torn);
  ASSERT_EQ(cassette.exchanges.size(), 2u);
  EXPECT_EQ(cassette.exchanges[1].number, 2u);
  EXPECT_EQ(cassette.exchanges[1].request.target, "/bytes");
}

// Records what is sent and when, by the loop's clock.
class NotingReply final : public HttpReply {
 public:
  explicit NotingReply(Loop& loop) : loop_(loop) {}
  Task<Result<void>> send(int status, HttpHeaders, std::string) override {
    return note(fmt::format("send {}", status));
  }
  Task<Result<void>> begin(int status, HttpHeaders) override {
    return note(fmt::format("begin {}", status));
  }
  Task<Result<void>> write(std::string bytes) override { return note(std::move(bytes)); }
  Task<Result<void>> end() override { return note("end"); }

  std::vector<std::pair<Duration, std::string>> notes;

 private:
  Task<Result<void>> note(std::string what) {
    notes.emplace_back(loop_.now() - Time(), std::move(what));
    co_return Result<void>();
  }
  Loop& loop_;
};

TEST(Replaying, keeps_the_recorded_time_or_the_given_pace) {
  using Notes = std::vector<std::pair<Duration, std::string>>;
  auto played = [](Pace pace) {
    VirtualRuntime runtime;
    RecordedExchange exchange = exchange_of(1, "{}", {{2s, "a"}, {50s, "b"}});
    exchange.head_after = 1s;
    exchange.end_after = 60s;
    Cassette cassette;
    cassette.exchanges = {exchange};
    Replayer replayer(runtime.loop, std::move(cassette), pace);
    NotingReply reply(runtime.loop);
    HttpServerRequest request;
    request.method = "POST";
    request.target = "/v1/chat/completions";
    request.body = "{}";
    auto answered = runtime.loop.run(replayer.handler()(request, reply));
    EXPECT_TRUE(answered);
    return reply.notes;
  };
  EXPECT_EQ(played({}), (Notes{{1s, "begin 200"}, {2s, "a"}, {50s, "b"}, {60s, "end"}}));
  EXPECT_EQ(played({.speed = 10}),
            (Notes{{100ms, "begin 200"}, {200ms, "a"}, {5s, "b"}, {6s, "end"}}));
  EXPECT_EQ(played({.speed = 1, .instant = true}),
            (Notes{{0s, "begin 200"}, {0s, "a"}, {0s, "b"}, {0s, "end"}}));
}

TEST(Upstream, is_checked_before_anything_is_sent) {
  EXPECT_EQ(parse_upstream("http://host:8000/v1/").value(), "http://host:8000/v1");
  for (const char* wrong : {"", "host", "ftp://host", "http://", "http://host/?key=x"}) {
    auto upstream = parse_upstream(wrong);
    ASSERT_FALSE(upstream) << wrong;
    EXPECT_EQ(upstream.error().exit_code(), ExitCode::usage) << wrong;
  }
  EXPECT_EQ(upstream_url("http://h/v1", "/v1/models?a=b"), "http://h/v1/models?a=b");
  EXPECT_EQ(upstream_url("http://h/v1", "/v10/models"), "http://h/v1/v10/models");
  EXPECT_EQ(upstream_url("http://h", "/v1/models"), "http://h/v1/models");
  EXPECT_EQ(upstream_url("http://h/api/v4", "/chat"), "http://h/api/v4/chat");
}

// The programs `specgen record` and `specgen replay`.
class CassettePrograms : public testing::Test {
 protected:
  Finished specgen(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SPECGEN_BINARY);
    auto finished =
        runtime_.loop.run(processes_.run({.argv = std::move(arguments), .time_limit = 60s}));
    EXPECT_TRUE(finished) << finished.error().text();
    return finished ? std::move(*finished) : Finished{};
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(CassettePrograms, bad_input_is_an_error_with_advice) {
  ASSERT_TRUE(
      write_file_durably(path("newer"), "{\"format\":\"specgen.cassette\",\"version\":9}\n"));
  ASSERT_TRUE(write_file_durably(path("damaged"), "not a cassette\n"));
  ASSERT_TRUE(write_file_durably(path("good"), encode_cassette({})));
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    std::string says;
  };
  const std::string here = "127.0.0.1:0";
  for (const Case& wrong : std::vector<Case>{
           {{"replay", path("missing"), "--listen", here}, 2, "E202"},
           {{"replay", path("newer"), "--listen", here}, 2, "E722"},
           {{"replay", path("damaged"), "--listen", here}, 3, "E721"},
           {{"replay", path("good"), "--listen", here, "--pace", "fast"}, 2, "10x"},
           {{"replay", path("good"), "--listen", "nowhere"}, 2, "HOST:PORT"},
           {{"replay", path("good")}, 2, "--listen"},
           {{"record", "--listen", here, "--upstream", "what?", "--out", path("x")}, 2, "E701"},
           {{"record", "--listen", here, "--upstream", "http://h", "--out", path("good")},
            2,
            "--append"},
           {{"record", "--listen", "203.0.113.1:80", "--upstream", "http://h", "--out", path("x")},
            3,
            "E704"},
           {{"record", "--listen", here, "--upstream", "http://h", "--out", path("damaged"),
             "--append"},
            3,
            "E721"}}) {
    Finished finished = specgen(wrong.arguments);
    EXPECT_EQ(finished.exit.code, wrong.exit_code) << finished.error_output;
    EXPECT_NE(finished.error_output.find(wrong.says), std::string::npos) << finished.error_output;
    EXPECT_NE(finished.error_output.find("what to do"), std::string::npos) << finished.error_output;
  }
  EXPECT_FALSE(std::filesystem::exists(path("x")))
      << "a recording that could not start left a file";
}

Task<std::string> read_until(AsyncFd& pipe, std::string_view end) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.find(end) == text.npos) {
    auto n = co_await pipe.read_some(buffer);
    if (!n || *n == 0) break;
    text.append(buffer.data(), *n);
  }
  co_return text;
}

// "http://127.0.0.1:PORT" out of what a server of ours says when it begins.
std::string address_in(const std::string& text) {
  std::size_t at = text.find("at http://127.0.0.1:");
  if (at == text.npos) return {};
  return text.substr(at + 3, text.find_first_of(" ;", at + 3) - at - 3);
}

Task<Result<void>> record_and_replay(Processes& processes, HttpClient& client, std::string upstream,
                                     std::string file, std::vector<std::string>& bodies) {
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{SPECGEN_BINARY, "record", "--listen", "127.0.0.1:0", "--upstream",
                                 upstream, "--out", file},
        std::vector<std::string>{SPECGEN_BINARY, "replay", file, "--listen", "127.0.0.1:0"}}) {
    Process server = CO_TRY(processes.spawn({.argv = std::move(arguments)}));
    std::string said = co_await read_until(*server.error_output, "\n");
    HttpRequest request;
    request.url = address_in(said) + "/anything";
    HttpResponse response = CO_TRY(co_await fetch(client, std::move(request)));
    bodies.push_back(std::move(response.body));
    ::kill(server.pid(), SIGINT);
    Exit exit = co_await server.wait();
    if (exit.signal != SIGINT) co_return fail(ErrorCode::bad_message, to_string(exit));
  }
  co_return Result<void>();
}

Task<Result<void>> say_hello(HttpServerRequest, HttpReply& reply) {
  return reply.send(200, {{"Content-Type", "text/plain"}}, "hello \xff");
}

TEST_F(CassettePrograms, an_interrupted_recording_is_complete_and_replays) {
  TaskGroup group(runtime_.loop);
  auto upstream =
      HttpServer::listen(runtime_.loop, runtime_.driver, "127.0.0.1:0", say_hello).value();
  group.spawn(upstream->serve());
  auto client = HttpClient::open(runtime_.loop, runtime_.driver).value();
  std::vector<std::string> bodies;
  auto done = runtime_.loop.run(with_timeout(
      runtime_.loop, 100s,
      record_and_replay(processes_, *client, fmt::format("http://127.0.0.1:{}", upstream->port()),
                        path("a.cassette"), bodies)));
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(bodies, (std::vector<std::string>(2, "hello \xff")));
  group.cancel();
}

}  // namespace
}  // namespace specgen
