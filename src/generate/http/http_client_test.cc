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
    client_ = HttpClient::open(world_.loop, world_.driver, std::move(options)).value();
  }
  Loop& loop() { return world_.loop; }
  template <class T>
  T run(Task<T> task) {
    return loop().run(std::move(task));
  }

  RealWorld world_;
  RawListener listener_{world_.loop, world_.driver};
  std::unique_ptr<HttpClient> client_;
};

// Hears one request and answers it with these bytes, then closes.
Task<void> answer_once(RawListener& listener, std::string answer, std::string& heard) {
  RawPeer peer = co_await listener.accept();
  heard = co_await peer.hear_until("\r\n\r\n");
  co_await peer.say(std::move(answer));
}

TEST_F(HttpClients, a_small_answer_is_fetched) {
  std::string heard;
  TaskGroup group(loop());
  group.spawn(
      answer_once(listener_, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-a: b\r\n\r\nhello", heard));
  auto response = run(fetch(*client_, {.url = listener_.url("/v1?x=y")}));
  ASSERT_TRUE(response) << response.error().text();
  EXPECT_EQ(response->head.status, 200);
  EXPECT_EQ(header_value(response->head.headers, "x-A"), "b");
  EXPECT_EQ(response->body, "hello");
  EXPECT_TRUE(heard.starts_with("GET /v1?x=y HTTP/1.1\r\n")) << heard;
}

}  // namespace
}  // namespace specgen
