#include "generate/http/http_server.h"

#include <gtest/gtest.h>

#include "generate/http/raw_peer.h"
#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// A server whose handler says what it was asked, and can stream, fail and wait.
class HttpServers : public testing::Test {
 protected:
  void start(HttpServerLimits limits = {}) {
    server_ = HttpServer::listen(runtime_.loop, runtime_.driver, "127.0.0.1:0",
                                 std::bind_front(&HttpServers::handle, this), limits)
                  .value();
    group_.emplace(runtime_.loop);
    group_->spawn(server_->serve());
  }

  Task<Result<void>> handle(HttpServerRequest request, HttpReply& reply) {
    if (request.path == "/echo") {
      std::string seen = request.method + " " + request.target + " [" + request.body + "]";
      co_return co_await reply.send(200, {{"Content-Type", "text/plain"}}, seen);
    }
    if (request.path == "/count") {
      CO_TRY(co_await reply.begin(200, {{"Content-Type", "text/event-stream"}}));
      for (int i = 0; i < 3; ++i) CO_TRY(co_await reply.write("data: " + std::to_string(i) + "\n"));
      co_return co_await reply.end();
    }
    if (request.path == "/wait") {
      Farewell farewell(log_, "handler gone");
      log_.push_back("handler waits");
      co_await loop().sleep(1h);
    }
    if (request.path == "/stream-forever") {
      Farewell farewell(log_, "handler gone");
      CO_TRY(co_await reply.begin(200, {}));
      while (true) CO_TRY(co_await reply.write(std::string(10'000, 'x')));
    }
    if (request.path == "/half") {
      CO_TRY(co_await reply.begin(200, {}));
      CO_TRY(co_await reply.write("half"));
      co_return fail(ErrorCode::timeout, "the other half");
    }
    if (request.path == "/fail") co_return fail(ErrorCode::timeout, "\"thinking\"");
    if (request.path == "/nothing") co_return co_await reply.send(204, {}, "");
    if (request.path == "/headers") {
      co_return co_await reply.send(
          200, {{"X-Split", "a\r\nX-Evil: b"}, {"content-length", "3"}, {"Connection", "weird"}},
          "hello");
    }
    if (request.path == "/silent") co_return Result<void>();
    co_return co_await reply.send(404, {}, request.path);
  }

  Loop& loop() { return runtime_.loop; }
  RawPeer connect() { return RawPeer::connect(runtime_.loop, runtime_.driver, server_->port()); }

  static Task<std::string> talk(RawPeer peer, std::vector<std::string> pieces, Loop& loop) {
    for (std::string& piece : pieces) {
      co_await peer.say(std::move(piece));
      co_await loop.yield();
    }
    co_return co_await peer.hear_all();
  }
  // Everything the server says until it closes.
  std::string answer_to(std::string bytes) {
    return loop().run(talk(connect(), {std::move(bytes)}, loop()));
  }

  RealRuntime runtime_;
  Log log_;
  std::unique_ptr<HttpServer> server_;
  std::optional<TaskGroup> group_;
};

bool can_bind_ipv6_loopback() {
  Fd fd(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

// Until it holds; ten seconds are for ever.
Task<bool> eventually(Loop& loop, std::function<bool()> holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) co_await loop.sleep(1ms);
  co_return holds();
}

const std::string kEcho =
    "POST /echo?a=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
const std::string kEchoed =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
    "Connection: close\r\n\r\nPOST /echo?a=1 [hello]";
const std::string kChunkedEcho =
    "POST /echo?a=1 HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    "2\r\nhe\r\n3;note=x\r\nllo\r\n0\r\nTrailer: t\r\n\r\n";

TEST_F(HttpServers, a_request_is_answered) {
  start();
  EXPECT_EQ(answer_to(kEcho), kEchoed);
}

TEST_F(HttpServers, a_request_may_be_split_anywhere) {
  start();
  for (const std::string& whole : {kEcho, kChunkedEcho}) {
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      std::vector<std::string> pieces{whole.substr(0, cut), whole.substr(cut)};
      EXPECT_EQ(loop().run(talk(connect(), pieces, loop())), kEchoed) << "cut at " << cut;
    }
    std::vector<std::string> bytes;
    for (char c : whole) bytes.emplace_back(1, c);
    EXPECT_EQ(loop().run(talk(connect(), bytes, loop())), kEchoed);
  }
}

TEST_F(HttpServers, requests_that_come_at_once_are_answered_in_order_on_one_connection) {
  start();
  std::string answers =
      answer_to("GET /echo HTTP/1.1\r\n\r\nGET /count HTTP/1.1\r\n\r\n" +
                std::string("PUT /x%20y HTTP/1.1\r\nContent-Length: 1\r\n\r\nz") + kChunkedEcho);
  EXPECT_EQ(
      answers,
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nGET /echo []"
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "8\r\ndata: 0\n\r\n8\r\ndata: 1\n\r\n8\r\ndata: 2\n\r\n0\r\n\r\n"
      "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n/x y" +
          kEchoed);
}

TEST_F(HttpServers, a_client_of_http_1_0_gets_a_plain_body_and_the_end) {
  start();
  EXPECT_EQ(answer_to("GET /count HTTP/1.0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            "data: 0\ndata: 1\ndata: 2\n");
}

TEST_F(HttpServers, a_head_request_gets_the_head_alone) {
  start();
  EXPECT_EQ(
      answer_to("HEAD /echo HTTP/1.1\r\n\r\nHEAD /count HTTP/1.1\r\nConnection: close\r\n\r\n"),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n");
}

TEST_F(HttpServers, an_answer_without_a_body_promises_none) {
  start();
  EXPECT_EQ(answer_to("GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST_F(HttpServers, headers_of_a_handler_can_neither_break_out_nor_contradict_the_framing) {
  start();
  EXPECT_EQ(answer_to("GET /headers HTTP/1.1\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nX-Split: a  X-Evil: b\r\nContent-Length: 5\r\n"
            "Connection: close\r\n\r\nhello");
}

Task<std::string> send_when_told(RawPeer peer, std::string& first) {
  co_await peer.say(
      "POST /echo HTTP/1.1\r\nExpect: 100-Continue\r\nConnection: close\r\nContent-Length: "
      "4\r\n\r\n");
  first = co_await peer.hear_until("\r\n\r\n");
  co_await peer.say("body");
  co_return co_await peer.hear_all();
}

TEST_F(HttpServers, a_client_that_expects_to_be_told_to_continue_is_told) {
  start();
  std::string first;
  std::string answer = loop().run(send_when_told(connect(), first));
  EXPECT_EQ(first, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("POST /echo [body]")) << answer;
}

TEST_F(HttpServers, an_offer_of_another_protocol_is_ignored) {
  start();
  std::string answer = answer_to(
      "GET /echo HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("GET /echo []")) << answer;
}

std::string status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? answer.substr(9, 3) : "none: " + answer;
}

TEST_F(HttpServers, what_is_no_request_is_refused_and_the_connection_closed) {
  start();
  for (const char* bytes :
       {"nonsense\r\n\r\n", "GET\r\n\r\n", "GET /x HTTP/9\r\n\r\n", "\x16\x03\x01\x02hello, TLS",
        "GET /x HTTP/1.1\r\nbad header\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n", "GET /a%2 HTTP/1.1\r\n\r\n",
        "POST /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /x HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    EXPECT_EQ(status_of(answer_to(bytes)), "400") << bytes;
  }
  EXPECT_EQ(status_of(answer_to("CONNECT a.example:443 HTTP/1.1\r\n\r\n")), "501");
  EXPECT_EQ(status_of(answer_to("GET / HTTP/1.1\r\nExpect: miracles\r\n\r\n")), "417");
  std::string answer = answer_to("nonsense\r\n\r\n");
  EXPECT_TRUE(answer.contains("{\"error\":{\"message\":\"this is not an HTTP request")) << answer;
}

TEST_F(HttpServers, a_target_may_be_a_whole_url) {
  start();
  std::string answer =
      answer_to("GET http://a.example:80/echo?q HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("GET http://a.example:80/echo?q []")) << answer;
}

TEST_F(HttpServers, what_is_too_large_is_refused_and_the_refusal_arrives_though_more_was_sent) {
  start({.body = KiB(64), .head = KiB(4)});
  std::string much(1 << 20, 'x');
  EXPECT_EQ(status_of(answer_to("GET /" + much + " HTTP/1.1\r\n\r\n")), "431");
  EXPECT_EQ(status_of(answer_to("GET / HTTP/1.1\r\nX: " + much + "\r\n\r\n")), "431");
  EXPECT_EQ(status_of(answer_to("POST / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n" + much)),
            "413");
  EXPECT_EQ(status_of(answer_to("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" +
                                much + "\r\n0\r\n\r\n")),
            "413");
  std::string most(64 << 10, 'x');
  EXPECT_EQ(status_of(answer_to(
                "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 65536\r\n\r\n" + most)),
            "404");
}

TEST_F(HttpServers, a_request_that_does_not_come_to_its_end_is_given_up) {
  start({.idle = 30ms});
  EXPECT_EQ(status_of(answer_to("GET /x HT")), "408");
  EXPECT_EQ(status_of(answer_to("POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort")), "408");
  EXPECT_EQ(answer_to(""), "") << "nothing was asked: there is nothing to answer";
  std::string answer = answer_to("GET /nothing HTTP/1.1\r\n\r\n");
  EXPECT_EQ(answer, "HTTP/1.1 204 No Content\r\n\r\n") << "idle after an answer: closed in silence";
}

Task<std::string> drip(RawPeer peer, Loop& loop) {
  bool heard = true;
  co_await peer.say("GET /x HTTP/1.1\r\n");
  for (int i = 0; i < 2'000 && heard; ++i) {
    heard = co_await peer.say("X: y\r\n");
    auto answer = co_await race(peer.hear(), loop.sleep(5ms));
    if (answer.first()) co_return *answer.first();
  }
  co_return "";
}

TEST_F(HttpServers, a_head_that_drips_has_no_more_time_than_one_that_does_not_come) {
  start({.idle = 50ms});
  EXPECT_EQ(status_of(loop().run(drip(connect(), loop()))), "408");
}

TEST_F(HttpServers, a_connection_too_many_is_told_so) {
  start({.connections = 2});
  RawPeer first = connect(), second = connect();
  loop().run(first.say("GET /wait HTTP/1.1\r\n\r\n"));
  loop().run(second.say("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 2; })));
  RawPeer third = connect();
  EXPECT_EQ(status_of(loop().run(third.hear_all())), "503");
  first.close();
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 3; })));
  EXPECT_EQ(answer_to(kEcho), kEchoed);
}

TEST_F(HttpServers, a_handler_ends_when_its_client_goes_away) {
  start();
  for (bool abruptly : {false, true}) {
    log_.clear();
    RawPeer peer = connect();
    // The next request already stands behind it: the end is seen all the same.
    loop().run(peer.say("GET /wait HTTP/1.1\r\n\r\nGET /echo HTTP/1.1\r\n\r\n"));
    ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler waits"}; })));
    abruptly ? peer.reset() : peer.close();
    EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 2; })));
  }
}

TEST_F(HttpServers, a_stream_that_nobody_reads_waits_and_ends_with_its_client) {
  start();
  RawPeer peer = connect();
  loop().run(peer.say("GET /stream-forever HTTP/1.1\r\n\r\n"));
  EXPECT_NE(loop().run(peer.hear()), "");
  EXPECT_EQ(answer_to(kEcho), kEchoed) << "others are served meanwhile";
  EXPECT_TRUE(log_.empty());
  peer.close();
  EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler gone"}; })));
}

TEST_F(HttpServers, a_client_that_takes_nothing_is_given_up) {
  start({.idle = 50ms});
  RawPeer peer = connect();
  loop().run(peer.say("GET /stream-forever HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler gone"}; })));
}

TEST_F(HttpServers, a_handler_that_fails_is_answered_for) {
  start();
  std::string answer = answer_to("GET /fail HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(answer), "500");
  EXPECT_TRUE(answer.contains("it took longer than its limit: \\\"thinking\\\"")) << answer;
  EXPECT_EQ(status_of(answer_to("GET /silent HTTP/1.1\r\nConnection: close\r\n\r\n")), "500");
}

TEST_F(HttpServers, a_stream_that_fails_ends_without_its_last_chunk) {
  start();
  std::string answer = answer_to("GET /half HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n4\r\nhalf\r\n")) << answer;
}

TEST_F(HttpServers, cancelling_the_server_closes_its_connections) {
  start();
  RawPeer peer = connect();
  loop().run(peer.say("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return !log_.empty(); })));
  group_.reset();
  EXPECT_EQ(log_, (Log{"handler waits", "handler gone"}));
  EXPECT_EQ(loop().run(peer.hear_all()), "");
}

TEST_F(HttpServers, hundreds_of_streams_are_open_at_once) {
  start();
  std::size_t before = open_descriptors();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 500; ++i) {
    peers.push_back(connect());
    loop().run(peers.back().say("GET /wait HTTP/1.1\r\n\r\n"));
  }
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 500; })));
  peers.clear();
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 1000; })));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(HttpListening, an_address_that_cannot_be_had_says_what_to_do) {
  RealRuntime runtime;
  auto listen = [&](std::string_view address) {
    return HttpServer::listen(runtime.loop, runtime.driver, address, nullptr);
  };
  auto first = listen("127.0.0.1:0").value();
  EXPECT_GT(first->port(), 0);
  Error taken = listen("127.0.0.1:" + std::to_string(first->port())).error();
  EXPECT_EQ(taken.code, ErrorCode::address_in_use);
  EXPECT_TRUE(taken.what_to_do().contains("choose another port")) << taken.text();
  Error foreign = listen("192.0.2.1:8080").error();
  EXPECT_EQ(foreign.code, ErrorCode::address_in_use);
  EXPECT_TRUE(foreign.what_to_do().contains("127.0.0.1")) << foreign.text();
  for (const char* wrong : {"", ":80", "8080", "localhost", "127.0.0.1:", "127.0.0.1:x", "::1:80",
                            "[::1:80", "[]:80", "127.0.0.1:65536", "127.0.0.1:-1", "a:1 "}) {
    auto listening = listen(wrong);
    ASSERT_FALSE(listening) << wrong;
    EXPECT_EQ(listening.error().code, ErrorCode::bad_usage) << wrong;
  }
}

TEST(HttpListening, names_and_ipv6_are_addresses_too) {
  RealRuntime runtime;
  EXPECT_TRUE(HttpServer::listen(runtime.loop, runtime.driver, "localhost:0", nullptr));
  if (!can_bind_ipv6_loopback()) GTEST_SKIP() << "this host has no IPv6";
  EXPECT_GT(HttpServer::listen(runtime.loop, runtime.driver, "[::1]:0", nullptr).value()->port(),
            0);
}

}  // namespace
}  // namespace specgen
