#pragma once
// The content of a cassette: HTTP exchanges with one endpoint, in the order in which they began, with the
// pieces of every answer and their times of arrival. Plain data; cassette_format.h reads and writes it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "generate/http/http_client.h"

namespace specgen {

// The request without anything that could be a key (secrets.h).
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
  cancelled,    // the client disconnected
  failed,       // the upstream could not be reached, or its answer broke off
  interrupted,  // the recording itself ended first
};
std::string_view to_string(ExchangeEnd end);

struct RecordedExchange {
  std::uint64_t number = 0;  // 1, 2, 3, ... in the cassette
  RecordedRequest request;
  std::optional<HttpHead> head;  // nullopt if there was no answer
  Duration head_after{};
  std::vector<RecordedPiece> pieces;
  ExchangeEnd end = ExchangeEnd::interrupted;
  Duration end_after{};
  std::string error;  // if it failed

  std::string body() const;  // of the answer, as far as it arrived
};

struct Cassette {
  std::string name;  // of the file, for messages
  std::vector<RecordedExchange> exchanges;
  // For appending: the size of the complete records, and the last checksum.
  std::uint64_t complete_bytes = 0;
  std::uint32_t last_checksum = 0;
  bool torn = false;  // the last record was incomplete and is ignored
};

}  // namespace specgen
