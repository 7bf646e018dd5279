#include "generate/cassette/cassette_format.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <map>

#include "base/assert.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kFormat = "specgen.cassette";
constexpr std::size_t kCoveredFrom = 18;  // after the checksum
// A century: a longer duration is invalid, and would overflow nanoseconds.
constexpr std::int64_t kMax_us = 100LL * 365 * 24 * 3600 * 1'000'000;

constexpr std::array<std::pair<ExchangeEnd, std::string_view>, 4> kEnds{{
    {ExchangeEnd::complete, "complete"},
    {ExchangeEnd::cancelled, "cancelled"},
    {ExchangeEnd::failed, "failed"},
    {ExchangeEnd::interrupted, "interrupted"},
}};

// The checksum is the first member and covers everything after it.
std::string line_start(std::uint32_t checksum) {
  return fmt::format("{{\"crc\":\"{:08x}\",", checksum);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// UTF-8 bytes are stored as text; others as characters U+0000 to U+00FF, one per byte, under
// another name: larger than base64, but ASCII in them stays readable.
void put_bytes(boost::json::object& record, std::string_view bytes) {
  if (is_utf8(bytes)) {
    record["text"] = bytes;
    return;
  }
  std::string latin;
  latin.reserve(bytes.size() * 2);
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      latin += c;
    } else {
      latin += static_cast<char>(0xc0 | (byte >> 6));
      latin += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  record["latin1"] = latin;
}

std::optional<std::string> take_bytes(const Json& record) {
  if (const Json* text = member_at(record, "text"); text && text->is_string()) {
    return std::string(text->get_string());
  }
  const Json* latin = member_at(record, "latin1");
  if (!latin || !latin->is_string()) return std::nullopt;
  std::string bytes;
  std::string_view rest = latin->get_string();
  for (; !rest.empty(); rest.remove_prefix(1)) {
    auto first = static_cast<unsigned char>(rest[0]);
    if (first < 0x80) {
      bytes += rest[0];
    } else if ((first == 0xc2 || first == 0xc3) && rest.size() > 1) {
      auto second = static_cast<unsigned char>(rest[1]);
      bytes += static_cast<char>(((first & 0x03) << 6) | (second & 0x3f));
      rest.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

boost::json::array headers_json(const HttpHeaders& headers) {
  boost::json::array all;
  for (const auto& [name, value] : headers) {
    all.push_back(boost::json::array{as_utf8(name), as_utf8(value)});
  }
  return all;
}

std::optional<HttpHeaders> take_headers(const Json& record) {
  const Json* headers = member_at(record, "headers");
  if (!headers || !headers->is_array()) return std::nullopt;
  HttpHeaders all;
  for (const Json& pair : headers->get_array()) {
    if (!pair.is_array() || pair.get_array().size() != 2) return std::nullopt;
    const Json& name = pair.get_array()[0];
    const Json& value = pair.get_array()[1];
    if (!name.is_string() || !value.is_string()) return std::nullopt;
    all.emplace_back(name.get_string(), value.get_string());
  }
  return all;
}

std::int64_t microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

std::optional<Duration> take_duration(const Json& record) {
  std::int64_t us = int_at(record, "after_us", -1);
  if (us < 0 || us > kMax_us) return std::nullopt;
  return std::chrono::microseconds(us);
}

// The complete lines, in order.
class Lines {
 public:
  explicit Lines(std::string_view bytes) : bytes_(bytes) {}

  std::optional<std::string_view> next() {
    std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  std::size_t at() const { return at_; }
  bool rest() const { return at_ < bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string name) { cassette_.name = std::move(name); }

  Result<Cassette> read(std::string_view bytes) {
    Lines lines(bytes);
    TRY(read_header(lines));
    while (auto line = lines.next()) {
      Json record = TRY(checked(*line));
      if (auto wrong = add(record); !wrong.empty()) return damaged(wrong);
      advance(lines);
    }
    cassette_.torn = lines.rest();
    return std::move(cassette_);
  }

 private:
  std::unexpected<Error> damaged(std::string_view what) const {
    std::string context = fmt::format("{}: line {}: {}", cassette_.name, line_, what);
    if (line_ == 1) return fail(ErrorCode::cassette_damaged, context);
    return fail(ErrorCode::cassette_damaged, context,
                fmt::format("restore the file from a copy; or keep the part before the damage with "
                            "`head -c {} {} > GOOD_PART`",
                            cassette_.complete_bytes, cassette_.name));
  }

  void advance(const Lines& lines) {
    cassette_.complete_bytes = lines.at();
    ++line_;
  }

  // The version is checked first: a newer one may compute checksums differently.
  Result<void> read_header(Lines& lines) {
    auto first = lines.next();
    if (!first) return damaged("the header is incomplete");
    auto header = parse_json(*first);
    if (!header || text_at(*header, "format") != kFormat) {
      return damaged("this is not a cassette, or its header is damaged");
    }
    std::int64_t version = int_at(*header, "version", -1);
    if (version > kVersion) {
      return fail(ErrorCode::cassette_newer,
                  fmt::format("{}: its version is {}, the newest known here is {}", cassette_.name,
                              version, kVersion));
    }
    if (version != kVersion) return damaged("the header has no version");
    TRY(checked(*first));
    advance(lines);
    return {};
  }

  Result<Json> checked(std::string_view line) {
    if (line.size() <= kCoveredFrom) return damaged("it is incomplete");
    std::uint32_t checksum = crc32(cassette_.last_checksum, line.substr(kCoveredFrom));
    if (line.substr(0, kCoveredFrom) != line_start(checksum))
      return damaged("its checksum is wrong");
    cassette_.last_checksum = checksum;
    auto record = parse_json(line);
    if (!record) return damaged(record.error().context);
    return std::move(*record);
  }

  // What is wrong with it; empty if nothing.
  std::string_view add(const Json& record) {
    std::string type = text_at(record, "type");
    if (type == "session") return {};
    auto number = static_cast<std::uint64_t>(int_at(record, "exchange"));
    if (type == "request") return add_request(record, number);
    auto open = open_.find(number);
    if (open == open_.end()) return "it belongs to no open exchange";
    RecordedExchange& exchange = cassette_.exchanges[open->second];
    auto after = take_duration(record);
    if (!after || *after < exchange.end_after) return "its time is wrong";
    exchange.end_after = *after;
    if (type == "head") return add_head(record, exchange);
    if (type == "bytes") return add_piece(record, exchange);
    if (type != "end") return "its type is unknown";
    open_.erase(open);
    return add_end(record, exchange);
  }

  std::string_view add_request(const Json& record, std::uint64_t number) {
    auto headers = take_headers(record);
    auto body = take_bytes(record);
    if (number != cassette_.exchanges.size() + 1) return "its number is out of order";
    if (!headers || !body) return "the request is incomplete";
    RecordedExchange exchange;
    exchange.number = number;
    exchange.request = {text_at(record, "method"), text_at(record, "target"), std::move(*headers),
                        std::move(*body)};
    open_[number] = cassette_.exchanges.size();
    cassette_.exchanges.push_back(std::move(exchange));
    return {};
  }

  static std::string_view add_head(const Json& record, RecordedExchange& exchange) {
    auto headers = take_headers(record);
    std::int64_t status = int_at(record, "status");
    if (exchange.head) return "a second head";
    if (!headers || status < 100 || status > 999) return "the head is incomplete";
    exchange.head = HttpHead{static_cast<int>(status), std::move(*headers)};
    exchange.head_after = exchange.end_after;
    return {};
  }

  static std::string_view add_piece(const Json& record, RecordedExchange& exchange) {
    auto bytes = take_bytes(record);
    if (!exchange.head) return "bytes before the head";
    if (!bytes) return "there are no bytes";
    exchange.pieces.push_back({exchange.end_after, std::move(*bytes)});
    return {};
  }

  static std::string_view add_end(const Json& record, RecordedExchange& exchange) {
    std::string how = text_at(record, "how");
    for (const auto& [end, word] : kEnds) {
      if (word != how) continue;
      exchange.end = end;
      exchange.error = text_at(record, "error");
      return {};
    }
    return "how it ended is unknown";
  }

  Cassette cassette_;
  std::size_t line_ = 1;
  std::map<std::uint64_t, std::size_t> open_;  // exchanges without an end, by number
};

}  // namespace

std::string_view to_string(ExchangeEnd end) {
  for (const auto& [each, word] : kEnds) {
    if (each == end) return word;
  }
  SG_PANIC("an end without a word");
}

std::string RecordedExchange::body() const {
  std::string all;
  for (const RecordedPiece& piece : pieces) all += piece.bytes;
  return all;
}

Result<Cassette> parse_cassette(std::string_view bytes, std::string name) {
  return Reader(std::move(name)).read(bytes);
}

Result<Cassette> read_cassette(const std::filesystem::path& path) {
  std::string bytes = TRY(read_file(path, kMaxCassetteSize));
  return parse_cassette(bytes, path.string());
}

std::string CassetteEncoder::line(const Json& record) {
  std::string text = compact_json(record);
  std::string_view covered = std::string_view(text).substr(1);  // after the brace
  checksum_ = crc32(checksum_, covered);
  return fmt::format("{}{}\n", line_start(checksum_), covered);
}

std::string CassetteEncoder::header() {
  return line({{"format", kFormat}, {"version", kVersion}});
}

std::string CassetteEncoder::session(WallTime started, std::string_view upstream) {
  return line({{"type", "session"}, {"started_ms", started.ms_since_1970}, {"upstream", upstream}});
}

std::string CassetteEncoder::request(std::uint64_t number, const RecordedRequest& request) {
  boost::json::object record{{"type", "request"},
                             {"exchange", number},
                             {"method", as_utf8(request.method)},
                             {"target", as_utf8(request.target)},
                             {"headers", headers_json(request.headers)}};
  put_bytes(record, request.body);
  return line(record);
}

std::string CassetteEncoder::head(std::uint64_t number, Duration after, const HttpHead& head) {
  return line({{"type", "head"},
               {"exchange", number},
               {"after_us", microseconds(after)},
               {"status", head.status},
               {"headers", headers_json(head.headers)}});
}

std::string CassetteEncoder::piece(std::uint64_t number, Duration after, std::string_view bytes) {
  boost::json::object record{
      {"type", "bytes"}, {"exchange", number}, {"after_us", microseconds(after)}};
  put_bytes(record, bytes);
  return line(record);
}

std::string CassetteEncoder::end(std::uint64_t number, Duration after, ExchangeEnd how,
                                 std::string_view error) {
  boost::json::object record{{"type", "end"},
                             {"exchange", number},
                             {"after_us", microseconds(after)},
                             {"how", to_string(how)}};
  if (!error.empty()) record["error"] = as_utf8(std::string(error));
  return line(record);
}

std::string encode_cassette(const std::vector<RecordedExchange>& exchanges) {
  CassetteEncoder encoder;
  std::string file = encoder.header();
  for (const RecordedExchange& exchange : exchanges) {
    file += encoder.request(exchange.number, exchange.request);
    if (exchange.head) file += encoder.head(exchange.number, exchange.head_after, *exchange.head);
    for (const RecordedPiece& piece : exchange.pieces) {
      file += encoder.piece(exchange.number, piece.after, piece.bytes);
    }
    if (exchange.end == ExchangeEnd::interrupted) continue;
    file += encoder.end(exchange.number, exchange.end_after, exchange.end, exchange.error);
  }
  return file;
}

}  // namespace specgen
