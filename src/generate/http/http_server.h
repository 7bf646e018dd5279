#pragma once
// A small HTTP/1.1 server on the loop, for the author, record and replay: one task per connection, no
// threads, hundreds of open streams. A request that is too large, malformed or too slow is answered
// with an error, and its connection closed.
//
//   auto server = TRY(HttpServer::listen(loop, driver, "127.0.0.1:8080", handler));
//   co_await server->serve();   // until cancelled
//
// The handler runs as one task per request, which is cancelled when the client closes the connection:
// it may be destroyed at any co_await. Cancelling serve() closes all connections.

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

// The answer to one request: either send() once; or begin(), any number of write(), and end(). A write
// waits while the client does not read.
// The server sets Content-Length, Transfer-Encoding and Connection; those of a handler are ignored.
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
  Bytes head =
      KiB(64);  // of the request line and all headers; also of a chunk's line and the trailers
  std::size_t connections = 4096;
  Duration idle = std::chrono::seconds(60);  // without data, between requests or within one
};

class HttpServer {
 public:
  using Handler = std::function<Task<Result<void>>(HttpServerRequest request, HttpReply& reply)>;

  virtual ~HttpServer() = default;
  virtual Task<Result<void>> serve() = 0;  // until cancelled
  virtual int port() const = 0;            // the actual one, if 0 was requested

  // `address` is HOST:PORT; 0 chooses a free port.
  static Result<std::unique_ptr<HttpServer>> listen(Loop& loop, RealDriver& driver,
                                                    std::string_view address, Handler handler,
                                                    HttpServerLimits limits = {});
};

}  // namespace specgen
