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

// A server whose handler echoes requests, and can stream, fail and wait.
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
      LogOnDestroy at_end(log_, "handler gone");
      log_.push_back("handler waits");
      co_await loop().sleep(1h);
    }
    if (request.path == "/stream-forever") {
      LogOnDestroy at_end(log_, "handler gone");
      CO_TRY(co_await reply.begin(200, {}));
      while (true) CO_TRY(co_await reply.write(std::string(10'000, 'x')));
    }
    if (request.path == "/half") {
      CO_TRY(co_await reply.begin(200, {}));
      CO_TRY(co_await reply.write("half"));
      co_return fail(ErrorCode::timeout, "the other half");
    }
    if (request.path == "/fail") co_return fail(ErrorCode::timeout, "\"quoted\"");
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
      co_await peer.send(std::move(piece));
      co_await loop.yield();
    }
    co_return co_await peer.receive_all();
  }
  // Everything the server sends until it closes.
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

// Waits until it holds, ten seconds at most.
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

TEST_F(HttpServers, pipelined_requests_are_answered_in_order_on_one_connection) {
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

TEST_F(HttpServers, an_http_1_0_client_gets_a_plain_body_and_the_end) {
  start();
  EXPECT_EQ(answer_to("GET /count HTTP/1.0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            "data: 0\ndata: 1\ndata: 2\n");
}

TEST_F(HttpServers, a_head_request_gets_only_the_head) {
  start();
  EXPECT_EQ(
      answer_to("HEAD /echo HTTP/1.1\r\n\r\nHEAD /count HTTP/1.1\r\nConnection: close\r\n\r\n"),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n");
}

TEST_F(HttpServers, an_answer_without_a_body_has_no_content_length) {
  start();
  EXPECT_EQ(answer_to("GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST_F(HttpServers, headers_of_a_handler_can_neither_inject_lines_nor_change_the_framing) {
  start();
  EXPECT_EQ(answer_to("GET /headers HTTP/1.1\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nX-Split: a  X-Evil: b\r\nContent-Length: 5\r\n"
            "Connection: close\r\n\r\nhello");
}

Task<std::string> send_after_continue(RawPeer peer, std::string& first) {
  co_await peer.send(
      "POST /echo HTTP/1.1\r\nExpect: 100-Continue\r\nConnection: close\r\nContent-Length: "
      "4\r\n\r\n");
  first = co_await peer.receive_until("\r\n\r\n");
  co_await peer.send("body");
  co_return co_await peer.receive_all();
}

TEST_F(HttpServers, a_client_that_expects_100_continue_gets_it) {
  start();
  std::string first;
  std::string answer = loop().run(send_after_continue(connect(), first));
  EXPECT_EQ(first, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("POST /echo [body]")) << answer;
}

TEST_F(HttpServers, an_upgrade_request_is_ignored) {
  start();
  std::string answer = answer_to(
      "GET /echo HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("GET /echo []")) << answer;
}

std::string status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? answer.substr(9, 3) : "none: " + answer;
}

TEST_F(HttpServers, an_invalid_request_is_refused_and_the_connection_closed) {
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

TEST_F(HttpServers, a_version_that_is_not_supported_is_refused) {
  start();
  for (const char* bytes :
       {"GET /x HTTP/2.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /x HTTP/1.7\r\n\r\n"}) {
    EXPECT_EQ(status_of(answer_to(bytes)), "505") << bytes;
  }
}

TEST_F(HttpServers, empty_lines_before_a_request_are_skipped) {
  start();
  EXPECT_EQ(answer_to("\r\n\r\n" + kEcho), kEchoed);
}

// A second request follows the body that one reading of the length implies: it must not be answered.
const std::string kSmuggled = "GET /echo?smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(HttpServers,
       a_request_with_an_ambiguous_length_is_refused_and_nothing_behind_it_is_answered) {
  start();
  const std::string post = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  for (const std::string& request :
       {// Content-Length and Transfer-Encoding, in both orders.
        post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
        post + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
        // Two Content-Lengths, different or equal, as two headers or as a list.
        post + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
        post + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        post + "Content-Length: 0, 44\r\n\r\n", post + "Content-Length: 0, 0\r\n\r\n",
        // Lengths that a lenient parser might read.
        post + "Content-Length: +0\r\n\r\n", post + "Content-Length: 0x0\r\n\r\n",
        post + "Content-Length: 0 44\r\n\r\n", post + "Content-Length: \r\n\r\n",
        post + "Content-Length: 99999999999999999999\r\n\r\n",
        // Encodings other than chunked, repeated, misspelt or hidden.
        post + "Transfer-Encoding: gzip\r\n\r\n",
        post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + "Transfer-Encoding: xchunked\r\n\r\n",
        post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        post + "Transfer-Encoding: \x0b"
               "chunked\r\n\r\n0\r\n\r\n",
        std::string("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        // Line ends that only some parsers accept.
        post + "X: a\nContent-Length: 0\r\n\r\n", post + "X: a\rContent-Length: 0\r\n\r\n"}) {
    std::string answer = answer_to(request + kSmuggled);
    EXPECT_EQ(status_of(answer), "400") << request;
    EXPECT_FALSE(answer.contains("smuggled")) << request;
  }
}

TEST_F(HttpServers, a_request_line_without_a_carriage_return_is_refused) {
  start();
  std::string answer = answer_to("POST /echo HTTP/1.1\nContent-Length: 0\n\n" + kSmuggled);
  EXPECT_EQ(status_of(answer), "505") << "the line end belongs to the version then";
  EXPECT_FALSE(answer.contains("smuggled"));
}

TEST_F(HttpServers, a_folded_header_is_one_value_and_not_two_headers) {
  start();
  // Obsolete line folding is replaced by a space (RFC 9112, 5.2): it cannot hide a length.
  EXPECT_EQ(status_of(answer_to("POST /echo HTTP/1.1\r\nX: a\r\n Content-Length: 5\r\n"
                                "Connection: close\r\n\r\n")),
            "200");
  EXPECT_EQ(status_of(answer_to("POST /echo HTTP/1.1\r\nContent-Length: 1\r\n 2\r\n\r\n")), "400");
  std::string answer = answer_to(
      "POST /echo HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\nConnection: close\r\n\r\n"
      "2\r\nhi\r\n0\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("POST /echo [hi]")) << answer;
  EXPECT_EQ(status_of(answer_to("POST /echo HTTP/1.1\r\n X: a\r\n\r\n")), "400")
      << "there is no header to continue";
}

TEST_F(HttpServers, a_bad_chunk_is_refused) {
  start();
  const std::string head = "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"-1\r\n", "g\r\n", "\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n",
        "0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_EQ(status_of(answer_to(head + body)), "400") << body;
  }
  EXPECT_EQ(status_of(answer_to(head + "7fffffffffffffff\r\n")), "413");
}

TEST_F(HttpServers, lines_of_chunks_and_trailers_have_the_limit_of_the_head) {
  start({.head = KiB(4)});
  const std::string head = "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string much(1 << 20, 'x');
  EXPECT_EQ(status_of(answer_to(head + "5;" + much)), "431");
  EXPECT_EQ(status_of(answer_to(head + "0\r\nX: " + much)), "431");
}

TEST_F(HttpServers, a_target_may_be_a_full_url) {
  start();
  std::string answer =
      answer_to("GET http://a.example:80/echo?q HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("GET http://a.example:80/echo?q []")) << answer;
}

TEST_F(HttpServers,
       an_oversized_request_is_refused_and_the_refusal_arrives_although_more_was_sent) {
  start({.body = KiB(64), .head = KiB(4)});
  std::string much(1 << 20, 'x');
  EXPECT_EQ(status_of(answer_to("GET /" + much + " HTTP/1.1\r\n\r\n")), "431");
  EXPECT_EQ(status_of(answer_to("GET / HTTP/1.1\r\nX: " + much + "\r\n\r\n")), "431");
  EXPECT_EQ(status_of(answer_to("POST / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n" + much)),
            "413");
  EXPECT_EQ(status_of(answer_to("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" +
                                much + "\r\n0\r\n\r\n")),
            "413");
  std::string largest(64 << 10, 'x');
  EXPECT_EQ(status_of(answer_to(
                "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 65536\r\n\r\n" + largest)),
            "404");
}

TEST_F(HttpServers, an_incomplete_request_times_out) {
  start({.idle = 30ms});
  EXPECT_EQ(status_of(answer_to("GET /x HT")), "408");
  EXPECT_EQ(status_of(answer_to("POST /x HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort")), "408");
  EXPECT_EQ(answer_to(""), "") << "no request: no answer";
  std::string answer = answer_to("GET /nothing HTTP/1.1\r\n\r\n");
  EXPECT_EQ(answer, "HTTP/1.1 204 No Content\r\n\r\n")
      << "idle after an answer: closed without another";
}

Task<std::string> send_slowly(RawPeer peer, Loop& loop) {
  bool heard = true;
  co_await peer.send("GET /x HTTP/1.1\r\n");
  for (int i = 0; i < 2'000 && heard; ++i) {
    heard = co_await peer.send("X: y\r\n");
    auto answer = co_await race(peer.receive(), loop.sleep(5ms));
    if (answer.first()) co_return *answer.first();
  }
  co_return "";
}

TEST_F(HttpServers, a_head_that_arrives_slowly_has_the_same_time_limit) {
  start({.idle = 50ms});
  EXPECT_EQ(status_of(loop().run(send_slowly(connect(), loop()))), "408");
}

TEST_F(HttpServers, a_connection_over_the_limit_is_refused) {
  start({.connections = 2});
  RawPeer first = connect(), second = connect();
  loop().run(first.send("GET /wait HTTP/1.1\r\n\r\n"));
  loop().run(second.send("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 2; })));
  RawPeer third = connect();
  EXPECT_EQ(status_of(loop().run(third.receive_all())), "503");
  first.close();
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 3; })));
  EXPECT_EQ(answer_to(kEcho), kEchoed);
}

TEST_F(HttpServers, a_handler_is_cancelled_when_its_client_closes) {
  start();
  for (bool abruptly : {false, true}) {
    log_.clear();
    RawPeer peer = connect();
    // A pipelined request behind it must not hide the end.
    loop().run(peer.send("GET /wait HTTP/1.1\r\n\r\nGET /echo HTTP/1.1\r\n\r\n"));
    ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler waits"}; })));
    abruptly ? peer.reset() : peer.close();
    EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 2; })));
  }
}

TEST_F(HttpServers, a_stream_that_is_not_read_waits_and_ends_with_its_client) {
  start();
  RawPeer peer = connect();
  loop().run(peer.send("GET /stream-forever HTTP/1.1\r\n\r\n"));
  EXPECT_NE(loop().run(peer.receive()), "");
  EXPECT_EQ(answer_to(kEcho), kEchoed) << "others are served meanwhile";
  EXPECT_TRUE(log_.empty());
  peer.close();
  EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler gone"}; })));
}

TEST_F(HttpServers, a_client_that_reads_nothing_is_dropped) {
  start({.idle = 50ms});
  RawPeer peer = connect();
  loop().run(peer.send("GET /stream-forever HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(loop().run(eventually(loop(), [&] { return log_ == Log{"handler gone"}; })));
}

TEST_F(HttpServers, a_failed_handler_is_answered_with_500) {
  start();
  std::string answer = answer_to("GET /fail HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(answer), "500");
  EXPECT_TRUE(answer.contains("the time limit was exceeded: \\\"quoted\\\"")) << answer;
  EXPECT_EQ(status_of(answer_to("GET /silent HTTP/1.1\r\nConnection: close\r\n\r\n")), "500");
}

TEST_F(HttpServers, a_failed_stream_ends_without_its_last_chunk) {
  start();
  std::string answer = answer_to("GET /half HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\n4\r\nhalf\r\n")) << answer;
}

TEST_F(HttpServers, cancelling_the_server_closes_its_connections) {
  start();
  RawPeer peer = connect();
  loop().run(peer.send("GET /wait HTTP/1.1\r\n\r\n"));
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return !log_.empty(); })));
  group_.reset();
  EXPECT_EQ(log_, (Log{"handler waits", "handler gone"}));
  EXPECT_EQ(loop().run(peer.receive_all()), "");
}

TEST_F(HttpServers, hundreds_of_streams_are_open_concurrently) {
  start();
  std::size_t before = open_descriptors();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 500; ++i) {
    peers.push_back(connect());
    loop().run(peers.back().send("GET /wait HTTP/1.1\r\n\r\n"));
  }
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 500; })));
  peers.clear();
  ASSERT_TRUE(loop().run(eventually(loop(), [&] { return log_.size() == 1000; })));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(HttpListening, an_address_that_cannot_be_used_has_advice) {
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
