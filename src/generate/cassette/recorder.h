#pragma once
// The proxy of `specgen record`: forwards every request to the upstream and every piece of the answer back
// as it arrives, and records both in a cassette. A client that disconnects cancels its upstream request at once;
// the exchange is recorded as cancelled. Keys are forwarded and not recorded (secrets.h).

#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/cassette/cassette_writer.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"
#include "runtime/loop.h"

namespace specgen {

// Checks the URL of the upstream server; an error if it is not an HTTP URL.
Result<std::string> parse_upstream(std::string_view url);

// The URL of a forwarded request. A version at both the end of the upstream's path and the start of the target
// counts once: http://host/v1 and /v1/models give http://host/v1/models.
std::string upstream_url(std::string_view upstream, std::string_view target);

class Recorder {
 public:
  struct Counts {
    std::uint64_t open = 0;
    std::uint64_t complete = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;
  };

  // The arguments outlive it, and it outlives the tasks of answer().
  Recorder(Loop& loop, HttpClient& client, CassetteWriter& writer, std::string upstream);
  Recorder(const Recorder&) = delete;

  Task<Result<void>> answer(HttpServerRequest request, HttpReply& reply);
  const Counts& counts() const { return counts_; }

 private:
  class Recording;  // of one exchange
  Task<Result<void>> pass_through(HttpRequest request, HttpReply& reply, Recording& recording);

  Loop& loop_;
  HttpClient& client_;
  CassetteWriter& writer_;
  std::string upstream_;
  Counts counts_;
};

// An OpenAI-style JSON error.
std::string error_answer(const Error& error, std::string_view type);

}  // namespace specgen
