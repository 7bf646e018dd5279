#include "generate/http/http_client.h"

#include <gtest/gtest.h>

#include "generate/http/http_server.h"
#include "generate/http/raw_peer.h"
#include "runtime/race.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

class HttpClients : public testing::Test {
 protected:
  HttpClients() { open({}); }
  void open(HttpClientOptions options) {
    client_ = HttpClient::open(runtime_.loop, runtime_.driver, std::move(options)).value();
  }
  Loop& loop() { return runtime_.loop; }
  template <class T>
  T run(Task<T> task) {
    return loop().run(std::move(task));
  }

  // Reads one request and answers it with these pieces, then closes.
  static Task<void> answer_once(HttpClients* self, std::vector<std::string> pieces) {
    RawPeer peer = co_await self->listener_.accept();
    self->received_ = co_await peer.receive_until("\r\n\r\n");
    for (std::string& piece : pieces) {
      co_await peer.send(std::move(piece));
      if (pieces.size() > 1) co_await pass(self->loop(), 2);
    }
  }
  Result<HttpResponse> fetch_from(std::vector<std::string> pieces, HttpRequest request = {}) {
    TaskGroup group(loop());
    group.spawn(answer_once(this, std::move(pieces)));
    if (request.url.empty()) request.url = listener_.url();
    return run(fetch(*client_, std::move(request)));
  }

  RealRuntime runtime_;
  RawListener listener_{runtime_.loop, runtime_.driver};
  std::string received_;
  std::unique_ptr<HttpClient> client_;
};

const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-a: b\r\n\r\nhello";
const std::string kChunkedHello =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";

TEST_F(HttpClients, a_small_answer_is_fetched) {
  auto response = fetch_from({kHello}, {.url = listener_.url("/v1?x=y")});
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->head.status, 200);
  EXPECT_EQ(header_value(response->head.headers, "x-A"), "b");
  EXPECT_EQ(header_value(response->head.headers, "y"), "");
  EXPECT_EQ(response->body, "hello");
  EXPECT_TRUE(received_.starts_with("GET /v1?x=y HTTP/1.1\r\n")) << received_;
}

TEST_F(HttpClients, a_request_is_sent_with_its_method_headers_and_body) {
  std::string body(3 << 20, 'b');
  auto response = fetch_from({kHello}, {.method = "POST",
                                        .url = listener_.url(),
                                        .headers = {{"X-Colour", "blue"}, {"X-Empty", ""}},
                                        .secret_header = "Authorization: Bearer sesame",
                                        .body = body});
  EXPECT_FALSE(response) << "the server did not read the whole body";
  for (const char* line : {"POST / HTTP/1.1\r\n", "\r\nX-Colour: blue\r\n",
                           "\r\nX-Empty:", "\r\nAuthorization: Bearer sesame\r\n",
                           "\r\nContent-Length: 3145728\r\n"}) {
    EXPECT_TRUE(received_.contains(line)) << line << " in " << received_;
  }
  EXPECT_FALSE(received_.contains("Expect")) << "a prompt must not wait for 100 Continue";
  for (const char* method : {"DELETE", "HEAD", "PUT"}) {
    EXPECT_TRUE(fetch_from({"HTTP/1.1 204 No Content\r\n\r\n"},
                           {.method = method, .url = listener_.url()}));
    EXPECT_TRUE(received_.starts_with(method)) << received_;
  }
}

TEST_F(HttpClients, an_answer_may_be_split_anywhere) {
  for (const std::string& whole : {kHello, kChunkedHello}) {
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      auto response = fetch_from({whole.substr(0, cut), whole.substr(cut)});
      ASSERT_TRUE(response) << "cut at " << cut << ": " << response.error().text();
      EXPECT_EQ(response->body, "hello") << "cut at " << cut;
    }
    std::vector<std::string> bytes;
    for (char c : whole) bytes.emplace_back(1, c);
    EXPECT_EQ(fetch_from(bytes).value().body, "hello");
  }
}

TEST_F(HttpClients, a_truncated_answer_is_an_error_at_every_cut) {
  for (const std::string& whole : {kHello, kChunkedHello}) {
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      auto response = fetch_from({whole.substr(0, cut)});
      // Without its last line break the answer is complete.
      if (response && whole == kChunkedHello && cut >= whole.size() - 2) continue;
      ASSERT_FALSE(response) << "cut at " << cut;
      bool head_received = cut >= whole.find("\r\n\r\n") + 4;
      EXPECT_EQ(response.error().code,
                head_received ? ErrorCode::stream_broken : ErrorCode::endpoint_unreachable)
          << "cut at " << cut << ": " << response.error().text();
    }
  }
}

TEST_F(HttpClients, interim_answers_and_trailers_are_skipped) {
  auto response =
      fetch_from({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                  "HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Late: z\r\n\r\n"});
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->head.status, 200);
  EXPECT_EQ(header_value(response->head.headers, "X"), "y");
  EXPECT_EQ(header_value(response->head.headers, "Link"), "");
  EXPECT_EQ(header_value(response->head.headers, "X-Late"), "");
  EXPECT_EQ(response->body, "hi");
}

TEST_F(HttpClients, a_body_without_a_length_ends_with_its_connection) {
  EXPECT_EQ(fetch_from({"HTTP/1.0 200 OK\r\n\r\nto the end"}).value().body, "to the end");
}

TEST_F(HttpClients, a_redirect_is_reported_and_not_followed) {
  auto response = fetch_from(
      {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"});
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->head.status, 302);
}

TEST_F(HttpClients, an_answer_that_is_not_http_is_an_error) {
  for (std::string garbage : {"SSH-2.0-OpenSSH\r\n", "\x15\x03\x01", "<html>\n"}) {
    auto response = fetch_from({garbage});
    ASSERT_FALSE(response) << garbage;
    EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable);
    EXPECT_TRUE(response.error().what_to_do().contains("does not speak HTTP"))
        << response.error().text();
  }
}

TEST_F(HttpClients, an_endless_head_is_abandoned) {
  std::string line = "X-More: " + std::string(1000, 'x') + "\r\n";
  std::string much;
  for (int i = 0; i < 1000; ++i) much += line;
  auto response = fetch_from({"HTTP/1.1 200 OK\r\n" + much});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::stream_broken);
  EXPECT_TRUE(response.error().context.contains("256 KiB")) << response.error().text();
}

TEST_F(HttpClients, an_answer_over_its_limit_is_abandoned) {
  TaskGroup group(loop());
  group.spawn(answer_once(this, {"HTTP/1.0 200 OK\r\n\r\n" + std::string(5000, 'x')}));
  auto response = run(fetch(*client_, {.url = listener_.url()}, KiB(4)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::stream_broken);
}

TEST_F(HttpClients, an_invalid_url_is_an_error_without_its_secrets) {
  for (const char* url :
       {"", "127.0.0.1:8080/v1", "api.example.com", "ftp://a.example/x", "http://", "https:///v1",
        "http://a b/", "http://a:99999/", "file:///etc/passwd",
        "http:// user:sesame@host/?key=sesame", "user:sesame@host?sesame"}) {
    auto response = run(fetch(*client_, {.url = url}));
    ASSERT_FALSE(response) << url;
    EXPECT_EQ(response.error().code, ErrorCode::bad_url) << url << ": " << response.error().text();
    EXPECT_FALSE(response.error().text().contains("sesame")) << response.error().text();
  }
}

TEST_F(HttpClients, a_line_break_in_a_header_is_an_error_that_does_not_show_it) {
  HttpRequest request{.url = listener_.url(), .secret_header = "Authorization: sesame\n"};
  auto response = run(fetch(*client_, request));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::bad_config);
  EXPECT_FALSE(response.error().text().contains("sesame"));
  EXPECT_FALSE(run(fetch(*client_, {.url = listener_.url(), .headers = {{"X", "a\r\nY: b"}}})));
}

TEST_F(HttpClients, a_closed_port_is_an_error_that_says_so) {
  int port = RawListener(loop(), runtime_.driver).port();  // closed again
  auto response = run(
      fetch(*client_, {.url = "http://u:sesame@127.0.0.1:" + std::to_string(port) + "/?k=sesame",
                       .secret_header = "Authorization: Bearer sesame"}));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable);
  EXPECT_EQ(response.error().exit_code(), ExitCode::environment);
  EXPECT_TRUE(response.error().what_to_do().contains("check that the server runs"))
      << response.error().text();
  EXPECT_FALSE(response.error().text().contains("sesame")) << response.error().text();
}

Task<void> reset_after(RawListener& listener, std::string first_bytes, Loop& loop) {
  RawPeer peer = co_await listener.accept();
  co_await peer.receive();
  co_await peer.send(std::move(first_bytes));
  co_await pass(loop, 5);
  peer.reset();
}

TEST_F(HttpClients, a_reset_is_an_error_after_the_data_before_it) {
  TaskGroup group(loop());
  group.spawn(reset_after(listener_, "", loop()));
  auto unanswered = run(fetch(*client_, {.url = listener_.url()}));
  ASSERT_FALSE(unanswered);
  EXPECT_EQ(unanswered.error().code, ErrorCode::endpoint_unreachable);

  group.spawn(reset_after(listener_, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", loop()));
  auto exchange = client_->send({.url = listener_.url()});
  EXPECT_EQ(run(exchange->head()).value().status, 200);
  EXPECT_EQ(run(exchange->read()).value(), "half");
  auto end = run(exchange->read());
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::stream_broken) << end.error().text();
}

// Sends one piece per event.
Task<void> speak_when_asked(RawListener& listener, Channel<std::string>& pieces) {
  RawPeer peer = co_await listener.accept();
  co_await peer.receive();
  while (auto piece = co_await pieces.receive()) co_await peer.send(std::move(*piece));
}

TEST_F(HttpClients, a_stream_is_read_as_it_arrives) {
  Channel<std::string> pieces(loop(), 8);
  TaskGroup group(loop());
  group.spawn(speak_when_asked(listener_, pieces));
  auto exchange = client_->send({.url = listener_.url()});
  ASSERT_TRUE(pieces.try_send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(run(exchange->head()).value().status, 200);
  for (const char* text : {"one", "two", "three"}) {
    ASSERT_TRUE(pieces.try_send(std::to_string(std::strlen(text)) + "\r\n" + text + "\r\n"));
    EXPECT_EQ(run(exchange->read()).value(), text);
  }
  ASSERT_TRUE(pieces.try_send("0\r\n\r\n"));
  EXPECT_EQ(run(exchange->read()).value(), std::nullopt);
  EXPECT_EQ(run(exchange->read()).value(), std::nullopt) << "it stays at its end";
}

Task<std::string> read_impatiently(HttpExchange& exchange, Loop& loop, int& timeouts) {
  std::string all;
  while (true) {
    auto got = co_await race(exchange.read(), pass(loop, 1));
    if (got.second()) {
      ++timeouts;
      continue;
    }
    auto piece = std::move(*got.first()).value();
    if (!piece) co_return all;
    all += *piece;
  }
}

TEST_F(HttpClients, a_cancelled_read_loses_nothing) {
  std::vector<std::string> pieces{"HTTP/1.0 200 OK\r\n\r\n"};
  std::string whole;
  for (int i = 0; i < 500; ++i) {
    pieces.push_back(std::to_string(i) + ' ');
    whole += pieces.back();
  }
  TaskGroup group(loop());
  group.spawn(answer_once(this, pieces));
  auto exchange = client_->send({.url = listener_.url()});
  int timeouts = 0;
  EXPECT_EQ(run(read_impatiently(*exchange, loop(), timeouts)), whole);
  EXPECT_GT(timeouts, 10);
}

TEST_F(HttpClients, a_proxy_is_used_and_its_refusal_is_reported) {
  open({.proxy = listener_.url()});
  auto response = fetch_from({kHello}, {.url = "http://model.example/v1"});
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_TRUE(received_.starts_with("GET http://model.example/v1 HTTP/1.1\r\n")) << received_;
  auto refused = fetch_from(
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"},
      {.url = "https://model.example/v1", .secret_header = "Authorization: Bearer sesame"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(received_.starts_with("CONNECT model.example:443 HTTP/1.1\r\n")) << received_;
  EXPECT_FALSE(received_.contains("sesame")) << "the key must not be sent to the proxy";
  EXPECT_EQ(refused.error().code, ErrorCode::endpoint_unreachable);
}

}  // namespace
}  // namespace specgen
