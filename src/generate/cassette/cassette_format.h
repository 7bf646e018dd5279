#pragma once
// The cassette file, version 1 (docs/cassettes.md): one JSON record a line, each with a checksum that
// continues the one before it, so that a record that was changed, moved or lost is found. A recording
// that was interrupted, by kill -9 or a full disk, is readable up to its last whole line.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "generate/cassette/recording.h"

namespace specgen {

inline constexpr Bytes kLargestCassette = GiB(1);

// Never wrong bytes: the whole records from the start, or an error. `name` is for messages.
Result<Cassette> parse_cassette(std::string_view bytes, std::string name);
Result<Cassette> read_cassette(const std::filesystem::path& path);

// Makes the lines, in the order in which they are to stand in the file.
class CassetteEncoder {
 public:
  CassetteEncoder() = default;  // for a fresh file, which begins with header()
  explicit CassetteEncoder(std::uint32_t last_checksum) : checksum_(last_checksum) {}

  std::string header();
  // `upstream` is for people, and without keys.
  std::string session(WallTime started, std::string_view upstream);
  std::string request(std::uint64_t number, const RecordedRequest& request);
  std::string head(std::uint64_t number, Duration after, const HttpHead& head);
  std::string piece(std::uint64_t number, Duration after, std::string_view bytes);
  std::string end(std::uint64_t number, Duration after, ExchangeEnd how, std::string_view error);

 private:
  std::string line(const Json& record);

  std::uint32_t checksum_ = 0;
};

// A whole file, as a recorder would have written it.
std::string encode_cassette(const std::vector<RecordedExchange>& exchanges);

}  // namespace specgen
