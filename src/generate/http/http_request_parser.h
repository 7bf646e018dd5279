#pragma once
// Parses one HTTP/1.x request from bytes that arrive in any split. Boost.Beast knows the grammar; this class adds the
// limits, refuses requests whose length is ambiguous (request smuggling), and names the status of every refusal.
// A parser is for one request: bytes after its end (pipelining) stay with the caller for the next parser.
// Used by one connection on its loop's thread; owns the request until take().

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

  explicit HttpRequestParser(const HttpServerLimits& limits);  // `limits` outlives the parser
  ~HttpRequestParser();

  // Consumes bytes from the front and returns how many. Unconsumed bytes of an incomplete request must be passed again,
  // with more behind them; there are never more of them than the limit on the head. Not after complete() or refusal().
  std::size_t feed(std::string_view bytes);

  bool started() const { return started_; }  // at least one byte has arrived
  bool head_complete() const { return head_complete_; }
  bool complete() const { return complete_; }
  const std::optional<Refusal>& refusal() const { return refusal_; }
  bool expects_continue() const { return expects_continue_; }  // before it sends its body

  // Of a complete request.
  bool keep_alive() const { return keep_alive_; }
  bool http_1_0() const { return http_1_0_; }
  HttpServerRequest take() { return std::move(request_); }

 private:
  struct Grammar;  // Boost.Beast's parser; its headers stay in the .cc

  void refuse(int status, std::string why);
  void refuse_error(int error, std::string_view description, std::string_view unparsed);
  void on_head();
  bool has_one_length() const;
  bool set_path();

  const HttpServerLimits& limits_;
  std::unique_ptr<Grammar> grammar_;
  HttpServerRequest request_;
  std::optional<Refusal> refusal_;
  std::size_t head_bytes_ = 0;
  bool started_ = false;
  bool head_complete_ = false;
  bool complete_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  bool http_1_0_ = false;
};

// "%41b" as "Ab"; nothing if a % is not followed by two hexadecimal digits, or encodes a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace specgen
