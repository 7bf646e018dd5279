#pragma once
// The cassette file, version 1 (docs/reference/cassettes.md): one JSON record per line, each with a checksum that
// continues the previous one, so that a changed, moved or lost record is detected. A recording
// interrupted by kill -9 or a full disk is readable up to its last complete line.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "generate/cassette/recording.h"

namespace specgen {

inline constexpr Bytes kMaxCassetteSize = GiB(1);

// All complete records from the start, or an error; never damaged data. `name` is for messages.
Result<Cassette> parse_cassette(std::string_view bytes, std::string name);
Result<Cassette> read_cassette(const std::filesystem::path& path);

// Encodes records as lines; they must be written in the order of the calls.
class CassetteEncoder {
 public:
  CassetteEncoder() = default;  // for a new file, which begins with header()
  explicit CassetteEncoder(std::uint32_t last_checksum) : checksum_(last_checksum) {}

  std::string header();
  // `upstream` is for display and has no key.
  std::string session(WallTime started, std::string_view upstream);
  std::string request(std::uint64_t number, const RecordedRequest& request);
  std::string head(std::uint64_t number, Duration after, const HttpHead& head);
  std::string piece(std::uint64_t number, Duration after, std::string_view bytes);
  std::string end(std::uint64_t number, Duration after, ExchangeEnd how, std::string_view error);

 private:
  std::string line(const Json& record);

  std::uint32_t checksum_ = 0;
};

// A complete file, as a recorder would write it.
std::string encode_cassette(const std::vector<RecordedExchange>& exchanges);

}  // namespace specgen
