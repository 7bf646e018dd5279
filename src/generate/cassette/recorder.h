#pragma once
// The proxy of `specgen record`: every request goes on to the upstream, every byte of the answer goes back
// as it comes, and both go into a cassette. A client that goes away cancels its request upstream at once;
// what had come is recorded as cancelled. Keys pass through and are not recorded (secrets.h).

#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/cassette/cassette_writer.h"
#include "generate/http/http_client.h"
#include "generate/http/http_server.h"
#include "runtime/loop.h"

namespace specgen {

// The server behind a recorder, as the user wrote it; an error if it is not a URL that can be asked.
Result<std::string> parse_upstream(std::string_view url);

// Where a request goes. A version that both the upstream's path ends and the target begins with is
// meant once: http://host/v1 and /v1/models are http://host/v1/models.
std::string upstream_url(std::string_view upstream, std::string_view target);

class Recorder {
 public:
  struct Counts {
    std::uint64_t open = 0;
    std::uint64_t complete = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;
  };

  // All of them outlive it, and it outlives its answers.
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

// A JSON error, as servers of models word it.
std::string error_answer(const Error& error, std::string_view type);

}  // namespace specgen
