#pragma once
// A small HTTP/1.1 server on the loop: one task per connection, no threads, hundreds of open streams.
// For the author, record, replay, and later metrics and the dashboard. Requests are parsed by
// http_parser; a request that is too large, malformed or too slow is answered and closed.
//
//   auto server = TRY(HttpServer::listen(loop, driver, "127.0.0.1:8080", handler));
//   co_await server->serve();   // until cancelled
//
// The handler is a task per request. When the client goes away, the task is cancelled: a stream that
// nobody reads costs nothing. One handler may be destroyed at any co_await.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/http/http_client.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task.h"

namespace specgen {

struct HttpServerRequest {
  std::string method;
  std::string path;    // decoded, without the query
  std::string target;  // as sent: path and query
  HttpHeaders headers;
  std::string body;
};

// The answer to one request. Either send() once, or begin(), write() as often as there is something,
// and end(). A write waits while the client does not read.
// Content-Length, Transfer-Encoding and Connection are the server's own: a handler's are left out.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  virtual Task<Result<void>> send(int status, HttpHeaders headers, std::string body) = 0;
  virtual Task<Result<void>> begin(int status, HttpHeaders headers) = 0;  // chunked
  virtual Task<Result<void>> write(std::string bytes) = 0;
  virtual Task<Result<void>> end() = 0;
};

struct HttpServerLimits {
  Bytes body = MiB(64);
  Bytes head = KiB(64);
  std::size_t connections = 4096;
  Duration idle = std::chrono::seconds(60);  // of a connection between requests, or within one
};

class HttpServer {
 public:
  using Handler = std::function<Task<Result<void>>(HttpServerRequest request, HttpReply& reply)>;

  virtual ~HttpServer() = default;
  virtual Task<Result<void>> serve() = 0;  // until cancelled
  virtual int port() const = 0;            // the one it got, if it was told 0

  // `address` is HOST:PORT; an address that is in use or not ours is an error that says so.
  static Result<std::unique_ptr<HttpServer>> listen(Loop& loop, RealDriver& driver,
                                                    std::string_view address, Handler handler,
                                                    HttpServerLimits limits = {});
};

}  // namespace specgen
