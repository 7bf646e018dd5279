// Certificates are always verified: tested against openssl's server with a certificate created here. And HTTP/2,
// which needs TLS, against nghttp2's server.

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "generate/http/http_client.h"
#include "generate/http/raw_peer.h"
#include "runtime/race.h"
#include "runtime/subprocess.h"
#include "runtime/task_group.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

class HttpsServers : public testing::Test {
 protected:
  void SetUp() override {
    certificate_ = folder_.path() / "certificate.pem";
    auto made =
        run(processes_.run({.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                     "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                                     "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                                     "-days", "2", "-keyout", key(), "-out", certificate_}}));
    ASSERT_TRUE(made && made->exit.ok()) << (made ? made->error_output : made.error().text());
  }
  void start_openssl() {
    start({"openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate_, "-key", key(),
           "-www"});
    auto port = run(with_timeout(runtime_.loop, 20s, read_port(*server_->output)));
    ASSERT_TRUE(port && !port->empty()) << "the server does not start";
    port_ = *port;
  }
  void start(std::vector<std::string> argv) {
    auto server = processes_.spawn({.argv = std::move(argv)});
    ASSERT_TRUE(server) << server.error().text();
    server_.emplace(std::move(*server));
  }
  void TearDown() override {
    server_.reset();
    run(processes_.drain());
  }

  // It prints "ACCEPT 127.0.0.1:PORT" when it is ready.
  static Task<std::string> read_port(AsyncFd& output) {
    std::string said;
    std::array<char, 256> buffer;
    while (!said.contains("ACCEPT") || !said.ends_with('\n')) {
      auto n = co_await output.read_some(buffer);
      if (!n || *n == 0) co_return "";
      said.append(buffer.data(), *n);
    }
    auto colon = said.rfind(':');
    co_return said.substr(colon + 1, said.size() - colon - 2);
  }
  Result<HttpResponse> fetch_with(HttpClientOptions options, std::string host = "127.0.0.1") {
    auto client = HttpClient::open(runtime_.loop, runtime_.driver, std::move(options)).value();
    return run(with_timeout(runtime_.loop, 20s,
                            fetch(*client, {.url = "https://" + host + ":" + port_ + "/",
                                            .secret_header = "Authorization: Bearer sesame"})));
  }
  template <class T>
  T run(Task<T> task) {
    return runtime_.loop.run(std::move(task));
  }
  std::string key() const { return folder_.path() / "key.pem"; }

  RealRuntime runtime_;
  TemporaryFolder folder_ = TemporaryFolder::make().value();
  std::string certificate_;
  Processes processes_{runtime_.loop, runtime_.driver};
  std::optional<Process> server_;
  std::string port_;
};

TEST_F(HttpsServers, a_certificate_of_an_unknown_issuer_is_refused) {
  start_openssl();
  auto response = fetch_with({});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable);
  EXPECT_TRUE(response.error().what_to_do().contains("ca_file")) << response.error().text();
  EXPECT_FALSE(response.error().text().contains("sesame"));
}

TEST_F(HttpsServers, a_certificate_of_an_issuer_in_ca_file_is_accepted) {
  start_openssl();
  for (bool http2 : {false, true}) {
    auto response = fetch_with({.http2 = http2, .ca_file = certificate_});
    ASSERT_TRUE(response) << response.error().text();
    EXPECT_EQ(response->head.status, 200);
  }
}

TEST_F(HttpsServers, a_certificate_of_another_host_is_refused) {
  start_openssl();
  auto response = fetch_with({.ca_file = certificate_}, "localhost");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, ErrorCode::endpoint_unreachable);
}

TEST_F(HttpsServers, a_missing_ca_file_is_an_error_at_once) {
  auto client =
      HttpClient::open(runtime_.loop, runtime_.driver, {.ca_file = folder_.path() / "none.pem"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::file_not_found);
}

Task<void> refuse_in_plain_http(RawListener& listener) {
  RawPeer peer = co_await listener.accept();
  co_await peer.receive();
  co_await peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

TEST_F(HttpsServers, plain_http_to_a_tls_server_is_an_error_and_the_reverse) {
  start_openssl();
  auto client = HttpClient::open(runtime_.loop, runtime_.driver).value();
  auto plain = run(fetch(*client, {.url = "http://127.0.0.1:" + port_ + "/"}));
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, ErrorCode::endpoint_unreachable) << plain.error().text();

  RawListener listener(runtime_.loop, runtime_.driver);
  TaskGroup group(runtime_.loop);
  group.spawn(refuse_in_plain_http(listener));
  auto secure =
      run(fetch(*client, {.url = "https://127.0.0.1:" + std::to_string(listener.port()) + "/"}));
  ASSERT_FALSE(secure);
  EXPECT_EQ(secure.error().code, ErrorCode::endpoint_unreachable);
  EXPECT_TRUE(secure.error().what_to_do().contains("check the scheme")) << secure.error().text();
}

Task<bool> answers(Loop& loop, HttpClient& client, std::string url) {
  for (int i = 0; i < 2'000; ++i) {
    if (co_await fetch(client, {.url = url})) co_return true;
    co_await loop.sleep(10ms);
  }
  co_return false;
}

TEST_F(HttpsServers, http_2_streams_share_a_connection_and_a_slow_one_does_not_delay_others) {
  std::string nghttpd = find_program("nghttpd");
  if (nghttpd.empty()) nghttpd = "/usr/sbin/nghttpd";  // not in the PATH of users
  if (!std::filesystem::exists(nghttpd)) {
    GTEST_SKIP() << "NOT RUN: there is no nghttpd. What to do: apt-get install nghttp2-server";
  }
  int port = RawListener(runtime_.loop, runtime_.driver).port();  // free a moment ago
  std::string small(1000, 's'), large(16 << 20, 'l');
  write_file_durably(folder_.path() / "small", small).value();
  write_file_durably(folder_.path() / "large", large).value();
  start({nghttpd, "--address=127.0.0.1", "--htdocs=" + folder_.path().string(),
         std::to_string(port), key(), certificate_});
  std::string url = "https://127.0.0.1:" + std::to_string(port);
  HttpClientOptions options{.http2 = true, .ca_file = certificate_, .buffered_bytes = 1 << 20};
  auto client = HttpClient::open(runtime_.loop, runtime_.driver, options).value();
  ASSERT_TRUE(run(answers(runtime_.loop, *client, url + "/small"))) << "the server does not start";
  auto slow = client->send({.url = url + "/large"});
  EXPECT_EQ(run(slow->head()).value().status, 200);
  std::size_t sockets = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    auto quick = run(with_timeout(runtime_.loop, 20s, fetch(*client, {.url = url + "/small"})));
    ASSERT_TRUE(quick) << quick.error().text();
    EXPECT_EQ(quick->body, small);
  }
  EXPECT_EQ(open_descriptors(), sockets) << "there is one connection";
  client->send({.url = url + "/large"}).reset();
  std::string all;
  while (auto piece = run(with_timeout(runtime_.loop, 20s, slow->read())).value()) all += *piece;
  EXPECT_TRUE(all == large);
  slow.reset();

  options.buffered_bytes = 1000;
  client = HttpClient::open(runtime_.loop, runtime_.driver, options).value();
  slow = client->send({.url = url + "/large"});
  run(nap(runtime_.loop, 100ms));
  EXPECT_EQ(run(fetch(*client, {.url = url + "/small"})).value().body, small);
  auto kept = run(slow->read()).value();
  EXPECT_LT(kept->size(), 128u << 10);
  auto broken = run(slow->read());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::stream_broken);
  EXPECT_TRUE(broken.error().context.contains("not read")) << broken.error().text();
}

}  // namespace
}  // namespace specgen
