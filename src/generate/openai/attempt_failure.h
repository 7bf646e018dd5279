#pragma once
// Why one attempt at a request failed, and what follows: retry, try another form, slow down, or report it.
// Pure functions of the server's answer; their results never contain the key. And RetryPolicy: how often and
// how soon to retry.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/random.h"
#include "base/units.h"
#include "generate/http/http_client.h"
#include "generate/openai/chunk_reader.h"

namespace specgen {

struct AttemptFailure {
  Error error;
  bool worth_retrying = false;  // the same request may succeed later
  bool throttled = false;       // the server asks its clients to slow down
  bool server_is_ill = false;   // counts towards the circuit breaker
  bool form_refused = false;    // another form of the request (a fork strategy) may be accepted
  std::optional<Duration> wait = std::nullopt;  // requested by the server
};

// Retries happen only before the first token is delivered: a second answer would differ from the first.
struct RetryPolicy {
  int attempts = 4;  // in all
  Duration first_wait = std::chrono::milliseconds(500);
  Duration max_wait = std::chrono::seconds(20);

  // The wait after `failed` attempts: doubles each time, and up to half of it is random, so that callers that
  // failed together do not retry together.
  Duration wait_after(int failed, Random& random) const;
};

// The wait that a server requests: retry-after-ms, Retry-After in seconds or as a date.
std::optional<Duration> requested_wait(const HttpHeaders& headers, WallTime now);

// An answer with a status other than 200, or with 200 but without a stream. `body` is its beginning.
AttemptFailure failure_of_answer(const HttpHead& head, std::string_view body, WallTime now,
                                 std::string_view key);
// The connection could not be opened, or broke.
AttemptFailure failure_of_connection(Error error, std::string_view key);
// An error that the server reported in the middle of a stream.
AttemptFailure failure_of_event(const ServerFault& fault, std::string_view key);
// The body is not a valid stream, or ended too early.
AttemptFailure failure_of_stream(std::string context, std::string_view key);

// The text with every occurrence of the key replaced.
std::string without_key(std::string text, std::string_view key);

}  // namespace specgen
