#pragma once
// HTTP requests from tasks of the loop, by libcurl as a guest: its sockets and timer are the driver's,
// its callbacks only queue, and tasks go on after curl has returned. Streams are followed as they come.
//
//   auto exchange = client.send({.method = "POST", .url = url, .headers = ..., .body = body});
//   HttpHead head = CO_TRY(co_await exchange->head());
//   while (auto piece = CO_TRY(co_await exchange->read())) parse(*piece);
//
// Destroying an exchange closes its connection at once (HTTP/1.1) or resets its stream (HTTP/2), also
// while a name is being looked up. A reader that is slow holds its own stream back, no other; over
// HTTP/2, what it does not read is kept, and beyond 64 times buffered_bytes its stream breaks.

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

// The value of a header, whatever the case of its name; empty if it is not there.
std::string_view header_value(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string url = {};
  HttpHeaders headers = {};
  std::string secret_header = {};  // a line such as "Authorization: Bearer KEY"; never shown
  std::string body = {};
};

struct HttpHead {
  int status = 0;
  HttpHeaders headers = {};
};

struct HttpClientOptions {
  Duration connect_timeout = std::chrono::seconds(10);
  bool http2 = false;                       // else HTTP/1.1, a connection per stream
  std::string ca_file = {};                 // empty: the system's; certificates are always verified
  std::string proxy = {};                   // empty: what the environment says
  std::size_t buffered_bytes = 256 * 1024;  // of a stream that its reader has not taken yet
};

class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual Task<Result<HttpHead>> head() = 0;
  // The next piece of the body, as it came; nothing at its end. Cancel-safe.
  virtual Task<Result<std::optional<std::string>>> read() = 0;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;  // no exchange is left

  virtual std::unique_ptr<HttpExchange> send(HttpRequest request) = 0;
  // Has `connections` idle connections to the server of `request` ready, so that the next requests pay no
  // handshake: by as many of that request at once, whatever their answer, for only a connection that has
  // served a request can serve another. Best effort; a server closes idle ones when it likes to (some
  // after 5 s), and then the next request opens its own.
  virtual Task<void> warm(HttpRequest request, std::size_t connections) = 0;

  static Result<std::unique_ptr<HttpClient>> open(Loop& loop, RealDriver& driver,
                                                  HttpClientOptions options = {});
};

// All of a small answer.
struct HttpResponse {
  HttpHead head;
  std::string body;
};
Task<Result<HttpResponse>> fetch(HttpClient& client, HttpRequest request, Bytes limit = MiB(16));

}  // namespace specgen
