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
    server_ = HttpServer::listen(world_.loop, world_.driver, "127.0.0.1:0",
                                 std::bind_front(&HttpServers::handle, this), limits)
                  .value();
    group_.emplace(world_.loop);
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
      arrived_.set();
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

  Loop& loop() { return world_.loop; }
  RawPeer connect() { return RawPeer::connect(world_.loop, world_.driver, server_->port()); }

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
  static Task<std::string> listen_until(RawPeer& peer, std::string mark) {
    co_return co_await peer.hear_until(std::move(mark));
  }

  RealWorld world_;
  Log log_;
  Event arrived_{world_.loop};
  std::unique_ptr<HttpServer> server_;
  std::optional<TaskGroup> group_;
};

constexpr const char* kEcho =
    "POST /echo?a=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(HttpServers, a_request_is_answered) {
  start();
  EXPECT_EQ(answer_to(kEcho),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
            "Connection: close\r\n\r\nPOST /echo?a=1 [hello]");
}

}  // namespace
}  // namespace specgen
