#pragma once
// One connection of the HTTP server: serves its requests in order until either side closes it. Owned by the server's
// task group; cancelling it closes the socket.

#include <memory>

#include "generate/http/http_server.h"
#include "runtime/async_fd.h"

namespace specgen {

// `handler` and `limits` outlive it.
Task<void> serve_http_connection(Loop& loop, std::unique_ptr<AsyncFd> socket,
                                 const HttpServer::Handler& handler,
                                 const HttpServerLimits& limits);

// A complete answer with an OpenAI-style JSON error; the connection ends after it.
std::string http_error_answer(int status, std::string_view message);

}  // namespace specgen
