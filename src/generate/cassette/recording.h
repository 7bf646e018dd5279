#pragma once
// What a cassette holds: HTTP exchanges with one endpoint, in the order in which they began, with the
// bytes of every answer as they came and when. Plain data; reading and writing: cassette_format.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "generate/http/http_client.h"

namespace specgen {

// What was asked, without anything that could be a key (secrets.h).
struct RecordedRequest {
  std::string method;
  std::string target;  // path and query
  HttpHeaders headers;
  std::string body;

  friend bool operator==(const RecordedRequest&, const RecordedRequest&) = default;
};

struct RecordedPiece {
  Duration after{};  // since the request
  std::string bytes;

  friend bool operator==(const RecordedPiece&, const RecordedPiece&) = default;
};

enum class ExchangeEnd {
  complete,
  cancelled,    // the client went away
  failed,       // the upstream could not be reached, or broke off
  interrupted,  // the recording itself ended first
};
std::string_view to_string(ExchangeEnd end);

struct RecordedExchange {
  std::uint64_t number = 0;  // 1, 2, 3, ... in the cassette
  RecordedRequest request;
  std::optional<HttpHead> head;  // none if no answer came
  Duration head_after{};
  std::vector<RecordedPiece> pieces;
  ExchangeEnd end = ExchangeEnd::interrupted;
  Duration end_after{};
  std::string error;  // of a failed one

  std::string body() const;  // of the answer, as far as it came
};

struct Cassette {
  std::string name;  // of the file, for messages
  std::vector<RecordedExchange> exchanges;
  // For who goes on recording: what is whole, and the checksum it ends with.
  std::uint64_t whole_bytes = 0;
  std::uint32_t last_checksum = 0;
  bool torn = false;  // the last record was not whole, and was left out
};

}  // namespace specgen
