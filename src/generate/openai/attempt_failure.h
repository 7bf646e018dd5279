#pragma once
// Why one attempt at a request failed, and what that means for the next: try again, try another way, slow
// down, or tell the user. Pure functions from what a server answered; no secret comes out of them.

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
#include "generate/http/http_client.h"
#include "generate/openai/chunk_reader.h"

namespace specgen {

struct AttemptFailure {
  Error error;
  bool worth_retrying = false;  // the same request may succeed later
  bool throttled = false;       // the server asks all of us to slow down
  bool server_is_ill = false;   // counts towards the circuit breaker
  bool form_refused = false;    // another form of the same request (a fork strategy) may be taken
  std::optional<Duration> wait = std::nullopt;  // as the server says
};

// How long a server asks us to wait: retry-after-ms, Retry-After in seconds or as a date.
std::optional<Duration> told_to_wait(const HttpHeaders& headers, WallTime now);

// An answer with a status that is not 200, or that is 200 and no stream. `body` is its beginning.
AttemptFailure failure_of_answer(const HttpHead& head, std::string_view body, WallTime now,
                                 std::string_view key);
// The connection could not be made or broke.
AttemptFailure failure_of_connection(Error error, std::string_view key);
// An error that the server reported in the middle of a stream.
AttemptFailure failure_of_event(const ServerFault& fault, std::string_view key);
// What came is no stream of answers, or ended too early.
AttemptFailure failure_of_stream(std::string context, std::string_view key);

// The text without the key, wherever a server or a library repeats it.
std::string without_key(std::string text, std::string_view key);

}  // namespace specgen
