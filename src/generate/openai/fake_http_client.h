#pragma once
// For tests: an HttpClient in virtual time. Each request gets the next prepared answer: pieces with pauses
// before them, then the end or an error.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generate/http/http_client.h"
#include "runtime/loop.h"

namespace specgen {

struct FakeAnswer {
  HttpHead head = {.status = 200, .headers = {{"content-type", "text/event-stream"}}};
  struct Piece {
    Duration after{};
    std::string bytes;
  };
  std::vector<Piece> pieces = {};
  std::optional<Error> breaks = std::nullopt;  // instead of an end
  bool refuses = false;                        // no head: `breaks` at once
};

class FakeHttpClient final : public HttpClient {
 public:
  explicit FakeHttpClient(Loop& loop) : loop_(loop) {}

  std::unique_ptr<HttpExchange> send(HttpRequest request) override {
    requests.push_back(std::move(request));
    sent_at.push_back(loop_.now());
    SG_ASSERT(!answers.empty(), "no answer is prepared");
    FakeAnswer answer = std::move(answers.front());
    answers.pop_front();
    return std::make_unique<Exchange>(loop_, std::move(answer));
  }
  Task<void> warm(HttpRequest request, std::size_t connections) override {
    warmed.push_back({loop_.now(), std::move(request), connections});
    co_return;
  }

  struct Warming {
    Time when;
    HttpRequest request;
    std::size_t connections;
  };
  std::vector<Warming> warmed;

  std::deque<FakeAnswer> answers;
  std::vector<HttpRequest> requests;
  std::vector<Time> sent_at;

 private:
  class Exchange final : public HttpExchange {
   public:
    Exchange(Loop& loop, FakeAnswer answer) : loop_(loop), answer_(std::move(answer)) {}
    Task<Result<HttpHead>> head() override {
      if (answer_.refuses) co_return std::unexpected(*answer_.breaks);
      co_return answer_.head;
    }
    Task<Result<std::optional<std::string>>> read() override {
      if (next_ < answer_.pieces.size()) {
        FakeAnswer::Piece& piece = answer_.pieces[next_];
        if (piece.after > Duration::zero()) co_await loop_.sleep(piece.after);
        ++next_;
        co_return std::optional(std::move(piece.bytes));
      }
      if (answer_.breaks) co_return std::unexpected(*answer_.breaks);
      co_return std::optional<std::string>();
    }

   private:
    Loop& loop_;
    FakeAnswer answer_;
    std::size_t next_ = 0;
  };

  Loop& loop_;
};

}  // namespace specgen
