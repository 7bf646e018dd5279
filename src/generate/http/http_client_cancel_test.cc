// Cancellation, flow control and reuse of connections.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <condition_variable>
#include <functional>
#include <mutex>

#include "generate/http/http_client.h"
#include "generate/http/http_server.h"
#include "generate/http/raw_peer.h"
#include "runtime/race.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace {

// A fake name server: "*.slow.test" is not answered before release(), "*.missing.test" does not exist. curl asks
// from its own threads.
class Names {
 public:
  int answer_slowly() {
    std::unique_lock lock(mutex_);
    ++pending_;
    // A limit, so that a client that joins its lookups fails instead of hanging.
    released_.wait_for(lock, std::chrono::seconds(30), [this] { return open_; });
    --pending_;
    return EAI_NONAME;
  }
  int report_unknown() {
    std::lock_guard lock(mutex_);
    ++unknown_;
    return EAI_NONAME;
  }
  int unknown() {
    std::lock_guard lock(mutex_);
    return unknown_;
  }
  void hold() {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  void release() {
    std::lock_guard lock(mutex_);
    open_ = true;
    released_.notify_all();
  }
  int pending() {
    std::lock_guard lock(mutex_);
    return pending_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  bool open_ = false;
  int pending_ = 0;
  int unknown_ = 0;
};
Names& names() {
  static auto* the_names = new Names;  // never destroyed: threads may use it until the process ends
  return *the_names;
}

}  // namespace

// Replaces the system's function in this program, also for libcurl.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  std::string_view asked = name ? name : "";
  if (asked.ends_with(".slow.test")) return names().answer_slowly();
  if (asked.ends_with(".missing.test")) return names().report_unknown();
  using Real = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static Real real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}

namespace specgen {
namespace {

using namespace std::chrono_literals;

class HttpConnections : public testing::Test {
 protected:
  HttpConnections() { open({}); }
  void open(HttpClientOptions options) {
    client_ = HttpClient::open(runtime_.loop, runtime_.driver, std::move(options)).value();
  }
  Loop& loop() { return runtime_.loop; }
  template <class T>
  T run(Task<T> task) {
    return loop().run(std::move(task));
  }
  bool eventually(std::function<bool()> holds) { return run(wait_until(loop(), std::move(holds))); }
  static Task<bool> wait_until(Loop& loop, std::function<bool()> holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) co_await loop.sleep(1ms);
    co_return holds();
  }

  RealRuntime runtime_;
  RawListener listener_{runtime_.loop, runtime_.driver};
  std::unique_ptr<HttpClient> client_;
};

const std::string kStreamBegins =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(HttpConnections, dropping_an_exchange_closes_its_connection_in_every_phase) {
  for (const std::string& said : {std::string(), std::string("HTTP/1.1 2"), kStreamBegins}) {
    auto exchange = client_->send({.url = listener_.url()});
    RawPeer peer = run(listener_.accept());
    run(peer.receive_until("\r\n\r\n"));
    run(peer.send(said));
    if (said == kStreamBegins) EXPECT_EQ(run(exchange->read()).value(), "hi");
    exchange.reset();
    EXPECT_EQ(run(with_timeout(loop(), 10s, peer.receive_all())).value(), "") << "after: " << said;
  }
}

TEST_F(HttpConnections, dropping_exchanges_at_once_leaks_no_descriptor) {
  std::size_t before = open_descriptors();
  for (int turns = 0; turns < 20; ++turns) {
    std::vector<std::unique_ptr<HttpExchange>> exchanges;
    for (int i = 0; i < 10; ++i) exchanges.push_back(client_->send({.url = listener_.url()}));
    run(pass(loop(), turns));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(HttpConnections, a_client_may_be_destroyed_with_idle_connections) {
  std::size_t before = open_descriptors();
  auto exchange = client_->send({.url = listener_.url()});
  RawPeer peer = run(listener_.accept());
  run(peer.send(kHello));
  EXPECT_EQ(run(exchange->read()).value(), "hello");
  EXPECT_EQ(run(exchange->read()).value(), std::nullopt);
  exchange.reset();
  client_.reset();
  EXPECT_EQ(run(peer.receive_all()).substr(0, 3), "GET") << "followed by the end of the connection";
  peer.close();
  open({});
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(HttpConnections, an_unknown_name_is_an_error_that_says_so) {
  auto response = run(fetch(*client_, {.url = "http://model.missing.test/v1"}));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable);
  EXPECT_TRUE(response.error().context.contains("model.missing.test")) << response.error().text();
  EXPECT_TRUE(response.error().what_to_do().contains("spelling")) << response.error().text();
}

TEST_F(HttpConnections, dropping_an_exchange_does_not_wait_for_its_name_lookup) {
  names().hold();
  std::size_t before = open_descriptors();
  auto exchange = client_->send({.url = "http://model.slow.test/v1"});
  ASSERT_TRUE(eventually([] { return names().pending() == 1; }));
  exchange.reset();
  EXPECT_EQ(names().pending(), 1) << "the lookup must still be running";
  // The client still works, and may be destroyed meanwhile.
  auto other = client_->send({.url = listener_.url()});
  RawPeer peer = run(listener_.accept());
  run(peer.send(kHello));
  EXPECT_EQ(run(other->read()).value(), "hello");
  other.reset();
  client_.reset();
  EXPECT_EQ(names().pending(), 1);
  peer.close();
  names().release();
  ASSERT_TRUE(eventually([] { return names().pending() == 0; }));
  open({});
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; })) << "the thread cleans up";
}

TEST_F(HttpConnections, the_connect_timeout_does_not_wait_for_the_name_lookup) {
  names().hold();
  open({.connect_timeout = 30ms});
  auto response = run(fetch(*client_, {.url = "https://model.slow.test/v1"}));
  EXPECT_EQ(names().pending(), 1);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable) << response.error().text();
  names().release();
  ASSERT_TRUE(eventually([] { return names().pending() == 0; }));
}

TEST_F(HttpConnections, a_connection_is_reused_only_after_its_answer_was_read) {
  auto first = client_->send({.url = listener_.url("/first")});
  RawPeer peer = run(listener_.accept());
  run(peer.receive_until("\r\n\r\n"));
  run(peer.send(kHello));
  EXPECT_EQ(run(first->read()).value(), "hello");
  EXPECT_EQ(run(first->read()).value(), std::nullopt);

  auto second = client_->send({.url = listener_.url("/second")});
  EXPECT_TRUE(run(peer.receive_until("\r\n\r\n")).starts_with("GET /second"));
  run(peer.send(kStreamBegins));
  EXPECT_EQ(run(second->read()).value(), "hi");
  second.reset();  // half-read: its rest must not be taken for the next answer

  auto third = client_->send({.url = listener_.url("/third")});
  RawPeer other = run(listener_.accept());
  EXPECT_TRUE(run(other.receive_until("\r\n\r\n")).starts_with("GET /third"));
  EXPECT_EQ(run(peer.receive_all()), "");
}

TEST_F(HttpConnections, an_idle_connection_that_the_server_closed_is_replaced) {
  auto first = client_->send({.url = listener_.url()});
  RawPeer peer = run(listener_.accept());
  run(peer.send(kHello));
  EXPECT_EQ(run(first->read()).value(), "hello");
  EXPECT_EQ(run(first->read()).value(), std::nullopt);
  peer.close();
  auto second = client_->send({.method = "POST", .url = listener_.url(), .body = "{}"});
  peer = run(listener_.accept());
  run(peer.send(kHello));
  EXPECT_EQ(run(second->head()).value().status, 200);
}

TEST_F(HttpConnections, a_host_with_several_addresses_is_reached_at_the_open_one) {
  // localhost is ::1 first, where the port is closed; the second socket gets the number of the first.
  std::string url = "http://localhost:" + std::to_string(listener_.port()) + "/";
  auto exchange = client_->send({.url = url});
  RawPeer peer = run(listener_.accept());
  run(peer.send(kHello));
  EXPECT_EQ(run(exchange->read()).value(), "hello");
}

// A streaming server.
struct StreamingServer {
  explicit StreamingServer(RealRuntime& runtime, std::string piece, int pieces)
      : piece_(std::move(piece)), pieces_(pieces), group_(runtime.loop) {
    server_ = HttpServer::listen(runtime.loop, runtime.driver, "127.0.0.1:0",
                                 std::bind_front(&StreamingServer::handle, this))
                  .value();
    group_.spawn(server_->serve());
  }
  Task<Result<void>> handle(HttpServerRequest request, HttpReply& reply) {
    if (request.path == "/small") co_return co_await reply.send(200, {}, "small");
    CO_TRY(co_await reply.begin(200, {}));
    for (int i = 0; i < pieces_; ++i) {
      CO_TRY(co_await reply.write(piece_));
      ++written_;
    }
    co_return co_await reply.end();
  }
  std::string url(const char* path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }

  std::string piece_;
  int pieces_;
  int written_ = 0;
  std::unique_ptr<HttpServer> server_;
  TaskGroup group_;
};

TEST_F(HttpConnections, a_slow_reader_delays_only_its_own_stream) {
  StreamingServer server(runtime_, std::string(64 << 10, 'x'), 1024);  // 64 MiB
  open({.buffered_bytes = 100'000});
  auto slow = client_->send({.url = server.url("/stream")});
  EXPECT_EQ(run(slow->head()).value().status, 200);
  int before = 0;
  while (before != std::exchange(before, server.written_) || before == 0) run(nap(loop(), 20ms));
  EXPECT_LT(before, 512) << "the rest waits at the server";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run(fetch(*client_, {.url = server.url("/small")})).value().body, "small");
  }
  std::size_t all = 0;
  while (auto piece = run(slow->read()).value()) all += piece->size();
  EXPECT_EQ(all, std::size_t{64} << 20);
}

TEST_F(HttpConnections, a_paused_stream_can_be_dropped) {
  StreamingServer server(runtime_, std::string(64 << 10, 'x'), 1024);
  open({.buffered_bytes = 1000});
  auto exchange = client_->send({.url = server.url("/stream")});
  EXPECT_TRUE(run(exchange->read()).value());
  run(nap(loop(), 5ms));
  exchange.reset();
  EXPECT_EQ(run(fetch(*client_, {.url = server.url("/small")})).value().body, "small");
}

Task<void> follow(HttpClient& client, std::string url, std::string whole, int& good) {
  auto response = co_await fetch(client, {.url = std::move(url)});
  good += response && response->body == whole;
}

TEST_F(HttpConnections, hundreds_of_streams_are_read_concurrently) {
  StreamingServer server(runtime_, "data: token\n\n", 50);
  std::string whole;
  for (int i = 0; i < 50; ++i) whole += "data: token\n\n";
  int good = 0;
  TaskGroup group(loop());
  for (int i = 0; i < 300; ++i) group.spawn(follow(*client_, server.url("/stream"), whole, good));
  run(group.join()).value();
  EXPECT_EQ(good, 300);
}

// Answers each request on this connection, and counts them.
Task<void> answer_all(RawPeer peer, int& requests) {
  while (!(co_await peer.receive_until("\r\n\r\n")).empty()) {
    ++requests;
    co_await peer.send(kHello);
  }
}
Task<void> accept_all(RawListener& listener, TaskGroup& group, int& connections, int& requests) {
  while (true) {
    RawPeer peer = co_await listener.accept();
    ++connections;
    group.spawn(answer_all(std::move(peer), requests));
  }
}

TEST_F(HttpConnections, requests_after_warming_reuse_connections) {
  int connections = 0, requests = 0;
  TaskGroup group(loop());
  group.spawn(accept_all(listener_, group, connections, requests));
  run(client_->warm({.url = listener_.url("/v1/models")}, 4));
  EXPECT_EQ(connections, 4);
  std::vector<std::unique_ptr<HttpExchange>> forks;
  for (int i = 0; i < 4; ++i) forks.push_back(client_->send({.url = listener_.url()}));
  for (auto& fork : forks) EXPECT_EQ(run(fork->head()).value().status, 200);
  EXPECT_EQ(connections, 4);
  EXPECT_EQ(requests, 8);
  run(client_->warm({.url = listener_.url()}, 5));
  EXPECT_EQ(connections, 5) << "only the missing one is opened";
}

TEST_F(HttpConnections, warming_an_unreachable_server_ends_and_leaves_the_client_usable) {
  std::size_t before = open_descriptors();
  int unknown = names().unknown();
  run(client_->warm({.url = "http://model.missing.test/"}, 3));
  EXPECT_EQ(names().unknown(), unknown + 3) << "every connection was tried";
  run(client_->warm({.url = "no url"}, 3));
  EXPECT_EQ(open_descriptors(), before) << "failed connections are closed";

  int connections = 0, requests = 0;
  TaskGroup group(loop());
  group.spawn(accept_all(listener_, group, connections, requests));
  EXPECT_EQ(run(fetch(*client_, {.url = listener_.url()})).value().body, "hello");
  EXPECT_EQ(requests, 1);
}

}  // namespace
}  // namespace specgen
