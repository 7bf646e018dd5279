#include "generate/cassette/replayer.h"

#include <utility>

#include "generate/cassette/recorder.h"
#include "generate/cassette/secrets.h"

namespace specgen {
namespace {

constexpr std::string_view kMark = "x-specgen-replay";

}  // namespace

HttpServer::Handler Replayer::handler() {
  return [this](HttpServerRequest request, HttpReply& reply) {
    return answer(std::move(request), reply);
  };
}

Task<Result<void>> Replayer::answer(HttpServerRequest request, HttpReply& reply) {
  // As the recorder would have stored it.
  auto secrets = secrets_in(request.headers, request.target, request.body);
  RecordedRequest asked{std::move(request.method), harmless_target(request.target),
                        harmless_headers(request.headers),
                        without_secrets(std::move(request.body), secrets)};
  auto match = tape_.match(asked);
  if (!match) {
    ++counts_.not_recorded;
    constexpr int kNotFound = 404;
    co_return co_await reply.send(
        kNotFound, {{"content-type", "application/json"}, {std::string(kMark), "not recorded"}},
        error_answer(match.error(), "not_recorded"));
  }
  ++(match->exact ? counts_.exact : counts_.nearest);
  co_return co_await play(std::move(*match), reply);
}

Task<Result<void>> Replayer::play(Match match, HttpReply& reply) {
  const RecordedExchange& exchange = *match.exchange;
  Time began = loop_.now();
  HttpHeaders headers;
  if (exchange.head) headers = exchange.head->headers;
  headers.emplace_back(kMark, match.exact ? "exact" : "nearest");
  if (!match.note.empty()) headers.emplace_back("x-specgen-replay-note", match.note);
  if (!exchange.head) {
    co_await loop_.sleep_until(began + pace_.of(exchange.end_after));
    Error error{ErrorCode::endpoint_unreachable, exchange.error, {}};
    if (exchange.end != ExchangeEnd::failed) co_return std::unexpected(std::move(error));
    headers.emplace_back("content-type", "application/json");
    constexpr int kBadGateway = 502;
    co_return co_await reply.send(kBadGateway, std::move(headers),
                                  error_answer(error, "upstream_error"));
  }
  co_await loop_.sleep_until(began + pace_.of(exchange.head_after));
  CO_TRY(co_await reply.begin(exchange.head->status, std::move(headers)));
  for (const RecordedPiece& piece : exchange.pieces) {
    co_await loop_.sleep_until(began + pace_.of(piece.after));
    CO_TRY(co_await reply.write(piece.bytes));
  }
  co_await loop_.sleep_until(began + pace_.of(exchange.end_after));
  if (exchange.end != ExchangeEnd::complete) {
    co_return fail(ErrorCode::stream_broken, "the recording ends here");
  }
  co_return co_await reply.end();
}

}  // namespace specgen
