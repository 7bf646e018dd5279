#include "generate/http/http_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>

#include "base/assert.h"
#include "base/json.h"
#include "generate/http/http_request_parser.h"
#include "runtime/race.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

std::string_view reason_of(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";  // optional
  }
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Headers that the server sets itself: those of a handler (a proxied answer) must not contradict them.
bool is_framing_header(std::string_view name) {
  return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") ||
         same_name(name, "Connection") || same_name(name, "Keep-Alive");
}

void append_clean(std::string& head, std::string_view text) {
  for (char c : text) head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
}

std::string head_of(int status, const HttpHeaders& headers, std::string_view framing,
                    bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  for (const auto& [name, value] : headers) {
    if (is_framing_header(name)) continue;
    append_clean(head, name);
    head += ": ";
    append_clean(head, value);
    head += "\r\n";
  }
  head += framing;
  if (!keep_alive) head += "Connection: close\r\n";
  return head += "\r\n";
}

std::string error_body(std::string_view message) {
  boost::json::object error{{"message", message}, {"type", "server_error"}};
  return compact_json(boost::json::object{{"error", std::move(error)}});
}

const HttpHeaders kJson{{"Content-Type", "application/json"}};

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

// Sends all bytes; an error if the peer has closed, or accepts nothing for `idle`.
class Sender {
 public:
  Sender(Loop& loop, AsyncFd& socket, Duration idle) : loop_(loop), socket_(socket), idle_(idle) {}

  Task<Result<void>> send(std::string_view bytes) {
    // A client that reads as fast as we write must not starve other tasks.
    constexpr int kMaxSendsInARow = 16;
    while (!bytes.empty()) {
      ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
        if (++sends_in_a_row_ > kMaxSendsInARow) {
          sends_in_a_row_ = 0;
          co_await loop_.yield();
        }
      } else if (errno == EAGAIN) {
        sends_in_a_row_ = 0;
        auto waited = co_await race(socket_.wait_writable(), loop_.sleep(idle_));
        if (waited.second()) co_return fail(ErrorCode::timeout, "the client does not read");
      } else if (errno != EINTR) {
        co_return fail_errno("send", errno);
      }
    }
    co_return Result<void>();
  }

 private:
  Loop& loop_;
  AsyncFd& socket_;
  Duration idle_;
  int sends_in_a_row_ = 0;
};

class Reply final : public HttpReply {
 public:
  struct Form {  // determined by the request
    bool head_only;
    bool http_1_0;
    bool keep_alive;
  };
  Reply(Sender& sender, Form form) : sender_(sender), form_(form) {}

  Task<Result<void>> send(int status, HttpHeaders headers, std::string body) override {
    SG_ASSERT(stage_ == Stage::nothing_said, "a request is answered twice");
    stage_ = Stage::ended;
    std::string framing;
    if (!has_no_body(status)) framing = fmt::format("Content-Length: {}\r\n", body.size());
    std::string head = head_of(status, headers, framing, form_.keep_alive);
    if (form_.head_only || has_no_body(status)) body.clear();
    constexpr std::size_t kWorthCopying = 16 * 1024;  // rather than another packet
    if (body.size() <= kWorthCopying) {
      head += body;
      body.clear();
    }
    CO_TRY(co_await sender_.send(head));
    co_return co_await sender_.send(body);
  }

  Task<Result<void>> begin(int status, HttpHeaders headers) override {
    SG_ASSERT(stage_ == Stage::nothing_said, "a request is answered twice");
    stage_ = Stage::streaming;
    silent_ = form_.head_only || has_no_body(status);
    chunked_ = !form_.http_1_0 && !has_no_body(status);
    if (!chunked_ && !silent_) form_.keep_alive = false;  // the end of the connection ends it
    std::string_view framing = chunked_ ? "Transfer-Encoding: chunked\r\n" : "";
    std::string head = head_of(status, headers, framing, form_.keep_alive);
    co_return co_await sender_.send(head);
  }

  Task<Result<void>> write(std::string bytes) override {
    SG_ASSERT(stage_ == Stage::streaming, "write() belongs between begin() and end()");
    if (silent_ || bytes.empty()) co_return Result<void>();  // an empty chunk would end the body
    if (!chunked_) co_return co_await sender_.send(bytes);
    std::string chunk = fmt::format("{:x}\r\n", bytes.size());
    chunk.reserve(chunk.size() + bytes.size() + 2);
    chunk += bytes;
    chunk += "\r\n";
    co_return co_await sender_.send(chunk);
  }

  Task<Result<void>> end() override {
    SG_ASSERT(stage_ == Stage::streaming, "end() belongs after begin()");
    stage_ = Stage::ended;
    if (silent_ || !chunked_) co_return Result<void>();
    co_return co_await sender_.send("0\r\n\r\n");
  }

  bool nothing_said() const { return stage_ == Stage::nothing_said; }
  bool ended() const { return stage_ == Stage::ended; }
  bool keep_alive() const { return form_.keep_alive; }

 private:
  enum class Stage { nothing_said, streaming, ended };

  Sender& sender_;
  Form form_;
  Stage stage_ = Stage::nothing_said;
  bool chunked_ = false;
  bool silent_ = false;
};

class Connection {
 public:
  Connection(Loop& loop, AsyncFd& socket, const HttpServer::Handler& handler,
             const HttpServerLimits& limits)
      : loop_(loop),
        socket_(socket),
        handler_(handler),
        limits_(limits),
        sender_(loop, socket, limits.idle) {}

  // False if this was the connection's last request.
  Task<bool> serve_one() {
    HttpRequestParser parser(limits_);
    bool complete = co_await read_request(parser);
    if (!complete) co_return false;
    HttpServerRequest request = parser.take();
    bool head_only = request.method == "HEAD";
    Reply reply(sender_, {head_only, parser.http_1_0(), parser.keep_alive()});
    auto outcome = co_await race(handler_(std::move(request), reply), hung_up());
    if (outcome.second()) co_return false;
    const Result<void>& handled = *outcome.first();
    if (reply.nothing_said()) {
      std::string why = handled ? "the request was not answered" : handled.error().summary();
      bool sent = (co_await reply.send(500, kJson, error_body(why))).has_value();
      co_return sent&& reply.keep_alive();
    }
    // An incomplete stream ends without its last chunk, so that the client notices.
    co_return handled&& reply.ended() && reply.keep_alive();
  }

 private:
  // True if a complete request has arrived. A refused one has been answered.
  Task<bool> read_request(HttpRequestParser& parser) {
    std::array<char, 8192> buffer;
    Time head_deadline = loop_.now() + limits_.idle;
    bool continued = false;
    while (true) {
      received_.erase(0, parser.feed(received_));
      if (parser.complete()) co_return true;
      if (parser.refusal()) {
        co_await refuse(parser.refusal()->status, parser.refusal()->why);
        co_return false;
      }
      if (parser.expects_continue() && parser.head_complete() && !std::exchange(continued, true)) {
        bool sent = (co_await sender_.send("HTTP/1.1 100 Continue\r\n\r\n")).has_value();
        if (!sent) co_return false;
      }
      // A head that arrives byte by byte has the same time limit as one that does not arrive.
      Time deadline = parser.head_complete() ? loop_.now() + limits_.idle : head_deadline;
      auto got = co_await race(socket_.read_some(buffer), loop_.sleep_until(deadline));
      if (got.second()) {
        if (parser.started()) co_await refuse(408, "the request took too long to arrive");
        co_return false;
      }
      Result<std::size_t>& n = *got.first();
      if (!n || *n == 0) co_return false;
      received_.append(buffer.data(), *n);
    }
  }

  // Reads on after the answer: closing a socket with unread data sends a reset, and the client may lose the answer.
  Task<void> refuse(int status, std::string why) {
    bool sent = (co_await sender_.send(http_error_answer(status, why))).has_value();
    if (!sent) co_return;
    ::shutdown(socket_.get(), SHUT_WR);
    constexpr Duration kMaxWait = 2s;
    co_await race(read_to_end(), loop_.sleep(kMaxWait));
  }
  Task<void> read_to_end() {
    std::array<char, 8192> buffer;
    while (true) {
      auto n = co_await socket_.read_some(buffer);
      if (!n || *n == 0) co_return;
    }
  }

  // Returns when the client has closed the connection. A half-closed one counts: no client that waits for an answer
  // does that.
  Task<void> hung_up() {
    while (true) {
      pollfd polled{socket_.get(), POLLRDHUP, 0};
      if (::poll(&polled, 1, 0) > 0) co_return;
      co_await socket_.wait_readable();
    }
  }

  Loop& loop_;
  AsyncFd& socket_;
  const HttpServer::Handler& handler_;
  const HttpServerLimits& limits_;
  Sender sender_;
  std::string received_;  // not consumed by a parser yet
};

}  // namespace

Task<void> serve_http_connection(Loop& loop, std::unique_ptr<AsyncFd> socket,
                                 const HttpServer::Handler& handler,
                                 const HttpServerLimits& limits) {
  Connection connection(loop, *socket, handler, limits);
  while (true) {
    bool keep_alive = co_await connection.serve_one();
    if (!keep_alive) co_return;
  }
}

std::string http_error_answer(int status, std::string_view message) {
  std::string body = error_body(message);
  return head_of(status, kJson, fmt::format("Content-Length: {}\r\n", body.size()), false) + body;
}

}  // namespace specgen
