#include "generate/http/http_request_parser.h"

#include <fmt/format.h>
#include <http_parser.h>
#include <strings.h>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {

struct HttpRequestParser::Parser {
  http_parser state;
};

struct HttpRequestParser::Callbacks {
  static HttpRequestParser& self(http_parser* state) {
    return *static_cast<HttpRequestParser*>(state->data);
  }
  static int url(http_parser* state, const char* at, std::size_t length) {
    self(state).request_.target.append(at, length);
    return 0;
  }
  static int name(http_parser* state, const char* at, std::size_t length) {
    HttpRequestParser& parser = self(state);
    if (parser.head_whole_) return 0;  // trailers are not kept
    if (std::exchange(parser.value_came_, false)) parser.request_.headers.emplace_back();
    parser.request_.headers.back().first.append(at, length);
    return 0;
  }
  static int value(http_parser* state, const char* at, std::size_t length) {
    HttpRequestParser& parser = self(state);
    if (parser.head_whole_) return 0;
    parser.value_came_ = true;
    parser.request_.headers.back().second.append(at, length);
    return 0;
  }
  static int head(http_parser* state) { return self(state).on_head(); }
  static int body(http_parser* state, const char* at, std::size_t length) {
    HttpRequestParser& parser = self(state);
    if (parser.request_.body.size() + length > parser.limits_.body.count) {
      return parser.refuse(
          413, fmt::format("the body is larger than {}", format_bytes(parser.limits_.body)));
    }
    parser.request_.body.append(at, length);
    return 0;
  }
  static int end(http_parser* state) {
    HttpRequestParser& parser = self(state);
    parser.whole_ = true;
    parser.keep_alive_ = http_should_keep_alive(state) != 0;
    http_parser_pause(state, 1);  // what follows is another request
    return 0;
  }
  static const http_parser_settings& table() {
    static const http_parser_settings kSettings = [] {
      http_parser_settings settings;
      http_parser_settings_init(&settings);
      settings.on_url = url;
      settings.on_header_field = name;
      settings.on_header_value = value;
      settings.on_headers_complete = head;
      settings.on_body = body;
      settings.on_message_complete = end;
      return settings;
    }();
    return kSettings;
  }
};

HttpRequestParser::HttpRequestParser(const HttpServerLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {
  http_parser_init(&parser_->state, HTTP_REQUEST);
  parser_->state.data = this;
}

HttpRequestParser::~HttpRequestParser() = default;

std::size_t HttpRequestParser::feed(std::string_view bytes) {
  SG_ASSERT(!whole_ && !refusal_, "a request that is at its end is fed");
  if (bytes.empty()) return 0;
  begun_ = true;
  bool was_head = !head_whole_;
  std::size_t taken =
      http_parser_execute(&parser_->state, &Callbacks::table(), bytes.data(), bytes.size());
  http_errno error = HTTP_PARSER_ERRNO(&parser_->state);
  if (error == HPE_HEADER_OVERFLOW) {
    refuse(431, "the head of the request is too large");
  } else if (error != HPE_OK && error != HPE_PAUSED && !refusal_) {
    refuse(400, fmt::format("this is not an HTTP request: {}", http_errno_description(error)));
  }
  if (was_head && !head_whole_) {
    head_bytes_ += taken;
    if (head_bytes_ > limits_.head.count && !refusal_) {
      refuse(431,
             fmt::format("the head of the request is larger than {}", format_bytes(limits_.head)));
    }
  }
  return taken;
}

int HttpRequestParser::refuse(int status, std::string why) {
  refusal_ = {status, std::move(why)};
  return -1;
}

int HttpRequestParser::on_head() {
  http_parser& state = parser_->state;
  head_whole_ = true;
  request_.method = http_method_str(static_cast<http_method>(state.method));
  http_1_0_ = state.http_major < 1 || (state.http_major == 1 && state.http_minor == 0);
  if (state.http_major > 1) return refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  if (state.method == HTTP_CONNECT) return refuse(501, "this is not a proxy");
  state.upgrade = 0;  // an offer of another protocol may be ignored
  if (!set_path()) return refuse(400, "the target is not a path");
  bool has_length = state.content_length != ~std::uint64_t{0};
  if (has_length && state.content_length > limits_.body.count) {
    return refuse(413, fmt::format("the body is larger than {}", format_bytes(limits_.body)));
  }
  std::string_view expected = header_value(request_.headers, "Expect");
  if (!expected.empty()) {
    std::string wanted = "100-continue";
    if (::strncasecmp(expected.data(), wanted.data(), expected.size()) != 0 ||
        expected.size() != wanted.size()) {
      return refuse(417, "the only expectation that can be met is 100-continue");
    }
    expects_continue_ = !http_1_0_;
  }
  return 0;
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
