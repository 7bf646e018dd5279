#pragma once
// One connection of the HTTP server: its requests one after another, until either side has had enough. Owned by
// the server's task group; cancelling it closes the socket.

#include <memory>

#include "generate/http/http_server.h"
#include "runtime/async_fd.h"

namespace specgen {

// `handler` and `limits` outlive it.
Task<void> serve_http_connection(Loop& loop, std::unique_ptr<AsyncFd> socket,
                                 const HttpServer::Handler& handler,
                                 const HttpServerLimits& limits);

// A whole answer with a JSON error in it, as servers of models word it; the connection ends after it.
std::string http_error_answer(int status, std::string_view message);

}  // namespace specgen
