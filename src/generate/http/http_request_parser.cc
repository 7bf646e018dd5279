#include "generate/http/http_request_parser.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Whether the request line ends in a version that is well-formed, such as HTTP/2.0.
bool names_a_version(std::string_view unparsed) {
  std::string_view line = unparsed.substr(0, unparsed.find('\r'));
  auto at = line.rfind("HTTP/");
  if (at == line.npos) return false;
  std::string_view version = line.substr(at + 5);
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 3 && is_digit(version[0]) && version[1] == '.' && is_digit(version[2]);
}

}  // namespace

struct HttpRequestParser::Grammar final : http::basic_parser<true> {
  explicit Grammar(HttpRequestParser& its_owner) : owner(its_owner) {
    header_limit(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(owner.limits_.head.count, std::uint32_t{1} << 31)));
    body_limit(owner.limits_.body.count);
  }

  void on_request_impl(http::verb verb, string_view method, string_view target, int version,
                       error_code& ec) override {
    owner.request_.method = std::string(method);
    owner.request_.target = std::string(target);
    owner.http_1_0_ = version == 10;
    if (verb == http::verb::unknown) ec = http::error::bad_method;
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (owner.head_complete_) return;  // trailers are not kept
    owner.request_.headers.emplace_back(std::string(name), std::string(value));
  }
  void on_header_impl(error_code& ec) override {
    owner.head_complete_ = true;
    owner.on_head();
    if (owner.refusal_) ec = http::error::bad_field;  // any error stops the parser
  }
  std::size_t on_body_impl(string_view body, error_code&) override {
    owner.request_.body.append(body);
    return body.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    owner.request_.body.append(body);
    return body.size();
  }
  void on_finish_impl(error_code&) override { owner.complete_ = true; }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  void on_response_impl(int, string_view, int, error_code&) override {}

  HttpRequestParser& owner;
};

HttpRequestParser::HttpRequestParser(const HttpServerLimits& limits)
    : limits_(limits), grammar_(std::make_unique<Grammar>(*this)) {}

HttpRequestParser::~HttpRequestParser() = default;

std::size_t HttpRequestParser::feed(std::string_view bytes) {
  SG_ASSERT(!complete_ && !refusal_, "a request that has ended is fed");
  const std::size_t given = bytes.size();
  if (given > 0) started_ = true;
  if (head_bytes_ == 0) {  // empty lines between requests are allowed (RFC 9112, 2.2)
    while (!bytes.empty() && (bytes[0] == '\r' || bytes[0] == '\n')) bytes.remove_prefix(1);
  }
  // Not eager: each call parses the start line, the head, or one piece of the body, so that the head can be measured.
  while (!bytes.empty() && !complete_) {
    bool in_head = !head_complete_;
    error_code error;
    std::size_t parsed = grammar_->put({bytes.data(), bytes.size()}, error);
    bytes.remove_prefix(parsed);
    if (in_head) head_bytes_ += parsed;
    if (error == http::error::need_more) break;
    if (error && !refusal_) refuse_error(error.value(), error.message(), bytes);
    if (refusal_) return given - bytes.size();
  }
  // What is left of an incomplete request is part of its head, of a chunk's line or of the trailers.
  std::size_t pending = complete_ ? 0 : bytes.size();
  if ((head_complete_ ? 0 : head_bytes_) + pending > limits_.head.count ||
      head_bytes_ > limits_.head.count) {
    refuse(431,
           fmt::format("the head of the request is larger than {}", format_bytes(limits_.head)));
  }
  if (complete_) keep_alive_ = grammar_->keep_alive();
  return given - bytes.size();
}

void HttpRequestParser::refuse(int status, std::string why) {
  refusal_ = {status, std::move(why)};
}

void HttpRequestParser::refuse_error(int error, std::string_view description,
                                     std::string_view unparsed) {
  switch (static_cast<http::error>(error)) {
    case http::error::header_limit:
      return refuse(431, fmt::format("the head of the request is larger than {}",
                                     format_bytes(limits_.head)));
    case http::error::body_limit:
      return refuse(413, fmt::format("the body is larger than {}", format_bytes(limits_.body)));
    case http::error::bad_version:
      if (names_a_version(unparsed)) {
        return refuse(505, "only HTTP/1.1 and HTTP/1.0 are supported");
      }
      [[fallthrough]];
    default:
      return refuse(400, fmt::format("this is not an HTTP request: {}", description));
  }
}

void HttpRequestParser::on_head() {
  if (request_.method == "CONNECT") return refuse(501, "this is not a proxy");
  if (!has_one_length()) {
    return refuse(400,
                  "the length of the body is ambiguous: send one Content-Length, or "
                  "Transfer-Encoding: chunked");
  }
  if (!set_path()) return refuse(400, "the target is not a path");
  std::string_view expected = header_value(request_.headers, "Expect");
  if (expected.empty()) return;
  if (!same_name(expected, "100-continue")) {
    return refuse(417, "the only expectation that can be met is 100-continue");
  }
  expects_continue_ = !http_1_0_;
}

// Stricter than Beast, which takes equal Content-Lengths and ignores encodings other than chunked: whatever a proxy in
// front might read differently is refused, since the rest would pass for another request.
bool HttpRequestParser::has_one_length() const {
  int lengths = 0, encodings = 0;
  bool plain = true;
  for (const auto& [name, value] : request_.headers) {
    if (same_name(name, "Content-Length")) {
      ++lengths;
      plain = plain && !value.contains(',');
    } else if (same_name(name, "Transfer-Encoding")) {
      ++encodings;
      plain = plain && same_name(value, "chunked") && !http_1_0_;
    }
  }
  return plain && lengths + encodings <= 1;
}

bool HttpRequestParser::set_path() {
  std::string_view target = request_.target;
  if (target == "*") {
    request_.path = "*";
    return true;
  }
  // A client that takes us for a proxy sends the whole URL.
  if (auto scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos) {
    auto slash = target.find_first_of("/?", scheme + 3);
    target = slash == target.npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return false;
  auto path = percent_decoded(target.substr(0, target.find_first_of("?#")));
  if (path) request_.path = std::move(*path);
  return path.has_value();
}

std::optional<std::string> percent_decoded(std::string_view text) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    int high = digit(text[i + 1]), low = digit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  return decoded;
}

}  // namespace specgen
