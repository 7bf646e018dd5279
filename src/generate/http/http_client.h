#pragma once
// An HTTP client for tasks of the loop, on libcurl. Bodies are streamed as they arrive.
//
//   auto exchange = client.send({.method = "POST", .url = url, .headers = ..., .body = body});
//   HttpHead head = CO_TRY(co_await exchange->head());
//   while (auto piece = CO_TRY(co_await exchange->read())) parse(*piece);
//
// Ownership: the client outlives its exchanges.
// Cancellation: destroying an exchange closes its connection at once (HTTP/1.1) or resets its stream
// (HTTP/2), also during a name lookup.
// Flow control: a slow reader delays only its own stream. Over HTTP/2 unread data is buffered instead,
// and beyond 64 times buffered_bytes the stream fails.
// Threads: loop thread only; curl resolves names on threads of its own.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task.h"

namespace specgen {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of a header, ignoring the case of its name; empty if there is none.
std::string_view header_value(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  std::string secret_header = {};  // a line such as "Authorization: Bearer KEY"; never printed
  std::string body = {};
};

struct HttpHead {
  int status = 0;
  HttpHeaders headers = {};
};

struct HttpClientOptions {
  Duration connect_timeout = std::chrono::seconds(10);
  bool http2 = false;                       // else HTTP/1.1, one connection per stream
  std::string ca_file = {};                 // empty: the system's; certificates are always verified
  std::string proxy = {};                   // empty: from the environment
  std::size_t buffered_bytes = 256 * 1024;  // of unread data per stream
};

class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual Task<Result<HttpHead>> head() = 0;
  // The next piece of the body as it arrived; nullopt at its end. Cancel-safe.
  virtual Task<Result<std::optional<std::string>>> read() = 0;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;  // after all its exchanges

  virtual std::unique_ptr<HttpExchange> send(HttpRequest request) = 0;
  // Opens idle connections to the server of `request`, so that the next requests need no handshake: sends
  // `connections` copies of it concurrently and ignores the answers, since curl reuses a connection only
  // after a request was served on it. Best effort: servers close idle connections (some after 5 s), and
  // then the next request opens a new one.
  virtual Task<void> warm(HttpRequest request, std::size_t connections) = 0;

  static Result<std::unique_ptr<HttpClient>> open(Loop& loop, RealDriver& driver,
                                                  HttpClientOptions options = {});
};

// The complete answer, for small ones; a larger body than `limit` is an error.
struct HttpResponse {
  HttpHead head;
  std::string body;
};
Task<Result<HttpResponse>> fetch(HttpClient& client, HttpRequest request, Bytes limit = MiB(16));

}  // namespace specgen
