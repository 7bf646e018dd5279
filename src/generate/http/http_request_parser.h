#pragma once
// One HTTP/1.x request, put together from bytes that come in any pieces. http_parser knows the grammar; here are
// the limits, and what becomes of a request that breaks them. A parser is for one request: bytes that follow it
// (pipelining) are left to the next.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "generate/http/http_server.h"

namespace specgen {

class HttpRequestParser {
 public:
  struct Refusal {
    int status;
    std::string why;
  };

  explicit HttpRequestParser(const HttpServerLimits& limits);
  ~HttpRequestParser();

  // Takes bytes from the front and says how many: all of them, unless the request is whole or refused.
  std::size_t feed(std::string_view bytes);

  bool begun() const { return begun_; }  // a byte of it has come
  bool head_whole() const { return head_whole_; }
  bool whole() const { return whole_; }
  const std::optional<Refusal>& refusal() const { return refusal_; }
  bool expects_continue() const { return expects_continue_; }  // before it sends its body

  // Of a whole request.
  bool keep_alive() const { return keep_alive_; }
  bool http_1_0() const { return http_1_0_; }
  HttpServerRequest take() { return std::move(request_); }

 private:
  struct Callbacks;  // what http_parser calls
  struct Parser;

  int refuse(int status, std::string why);
  int on_head();
  bool set_path();

  const HttpServerLimits& limits_;
  std::unique_ptr<Parser> parser_;
  HttpServerRequest request_;
  std::optional<Refusal> refusal_;
  std::size_t head_bytes_ = 0;
  bool begun_ = false;
  bool value_came_ = true;  // the next piece of a name begins a header
  bool head_whole_ = false;
  bool whole_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  bool http_1_0_ = false;
};

// "%41b" as "Ab"; nothing if a % is not followed by two hexadecimal digits, or stands for a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace specgen
