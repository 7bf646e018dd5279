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
      return "";  // the number says it
  }
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// The server frames its answers itself: what a handler hands through from elsewhere must not contradict.
bool is_ours(std::string_view name) {
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
    if (is_ours(name)) continue;
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

// All of it, or an error: the peer is gone, or has taken nothing for `idle`.
class Sender {
 public:
  Sender(Loop& loop, AsyncFd& socket, Duration idle) : loop_(loop), socket_(socket), idle_(idle) {}

  Task<Result<void>> send(std::string_view bytes) {
    // A client that reads as fast as we write must not keep us from everyone else.
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
  struct Manner {  // what the request allows
    bool head_only;
    bool http_1_0;
    bool keep_alive;
  };
  Reply(Sender& sender, Manner manner) : sender_(sender), manner_(manner) {}

  Task<Result<void>> send(int status, HttpHeaders headers, std::string body) override {
    SG_ASSERT(stage_ == Stage::nothing_said, "a request is answered twice");
    stage_ = Stage::ended;
    std::string framing;
    if (!has_no_body(status)) framing = fmt::format("Content-Length: {}\r\n", body.size());
    std::string head = head_of(status, headers, framing, manner_.keep_alive);
    if (manner_.head_only || has_no_body(status)) body.clear();
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
    silent_ = manner_.head_only || has_no_body(status);
    chunked_ = !manner_.http_1_0 && !has_no_body(status);
    if (!chunked_ && !silent_) manner_.keep_alive = false;  // the end of the connection ends it
    std::string_view framing = chunked_ ? "Transfer-Encoding: chunked\r\n" : "";
    std::string head = head_of(status, headers, framing, manner_.keep_alive);
    co_return co_await sender_.send(head);
  }

  Task<Result<void>> write(std::string bytes) override {
    SG_ASSERT(stage_ == Stage::streaming, "write() belongs between begin() and end()");
    if (silent_ || bytes.empty()) co_return Result<void>();  // an empty chunk would be the last
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
  bool keep_alive() const { return manner_.keep_alive; }

 private:
  enum class Stage { nothing_said, streaming, ended };

  Sender& sender_;
  Manner manner_;
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

  // False: the connection has had its last request.
  Task<bool> serve_one() {
    HttpRequestParser parser(limits_);
    bool came = co_await read_request(parser);
    if (!came) co_return false;
    bool head_only = false;
    HttpServerRequest request = parser.take();
    head_only = request.method == "HEAD";
    Reply reply(sender_, {head_only, parser.http_1_0(), parser.keep_alive()});
    auto outcome = co_await race(handler_(std::move(request), reply), hung_up());
    if (outcome.second()) co_return false;
    const Result<void>& handled = *outcome.first();
    if (reply.nothing_said()) {
      std::string why = handled ? "the request was not answered" : handled.error().summary();
      bool sent = (co_await reply.send(500, kJson, error_body(why))).has_value();
      co_return sent&& reply.keep_alive();
    }
    // A stream that is not whole ends without its last chunk: the client must notice.
    co_return handled&& reply.ended() && reply.keep_alive();
  }

 private:
  // True if a whole request has come. What is refused has been answered.
  Task<bool> read_request(HttpRequestParser& parser) {
    std::array<char, 8192> buffer;
    Time head_deadline = loop_.now() + limits_.idle;
    bool continued = false;
    while (true) {
      came_.erase(0, parser.feed(came_));
      if (parser.whole()) co_return true;
      if (parser.refusal()) {
        co_await refuse(parser.refusal()->status, parser.refusal()->why);
        co_return false;
      }
      if (parser.expects_continue() && parser.head_whole() && !std::exchange(continued, true)) {
        bool sent = (co_await sender_.send("HTTP/1.1 100 Continue\r\n\r\n")).has_value();
        if (!sent) co_return false;
      }
      // A head that drips in byte by byte has no more time than one that does not come.
      Time deadline = parser.head_whole() ? loop_.now() + limits_.idle : head_deadline;
      auto got = co_await race(socket_.read_some(buffer), loop_.sleep_until(deadline));
      if (got.second()) {
        if (parser.begun()) co_await refuse(408, "the request took too long to come");
        co_return false;
      }
      Result<std::size_t>& n = *got.first();
      if (!n || *n == 0) co_return false;
      came_.append(buffer.data(), *n);
    }
  }

  // The answer must not be lost because of bytes that we never read: the system would answer those with a reset.
  Task<void> refuse(int status, std::string why) {
    bool sent = (co_await sender_.send(http_error_answer(status, why))).has_value();
    if (!sent) co_return;
    ::shutdown(socket_.get(), SHUT_WR);
    constexpr Duration kPatience = 2s;
    co_await race(read_to_end(), loop_.sleep(kPatience));
  }
  Task<void> read_to_end() {
    std::array<char, 8192> buffer;
    while (true) {
      auto n = co_await socket_.read_some(buffer);
      if (!n || *n == 0) co_return;
    }
  }

  // Until the client is gone. One that has only finished speaking counts as gone, too: nobody who
  // waits for an answer does that.
  Task<void> hung_up() {
    while (true) {
      pollfd looked{socket_.get(), POLLRDHUP, 0};
      if (::poll(&looked, 1, 0) > 0) co_return;
      co_await socket_.wait_readable();
    }
  }

  Loop& loop_;
  AsyncFd& socket_;
  const HttpServer::Handler& handler_;
  const HttpServerLimits& limits_;
  Sender sender_;
  std::string came_;  // and belongs to no request yet
};

}  // namespace

Task<void> serve_http_connection(Loop& loop, std::unique_ptr<AsyncFd> socket,
                                 const HttpServer::Handler& handler,
                                 const HttpServerLimits& limits) {
  Connection connection(loop, *socket, handler, limits);
  while (true) {
    bool goes_on = co_await connection.serve_one();
    if (!goes_on) co_return;
  }
}

std::string http_error_answer(int status, std::string_view message) {
  std::string body = error_body(message);
  return head_of(status, kJson, fmt::format("Content-Length: {}\r\n", body.size()), false) + body;
}

}  // namespace specgen
