#include "generate/cassette/recorder.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "base/json.h"
#include "generate/cassette/secrets.h"
#include "generate/http/curl_messages.h"

namespace specgen {
namespace {

// Hop-by-hop headers; and Accept-Encoding, since a compressed answer
// could not be read in a cassette.
constexpr std::array<std::string_view, 12> kHopByHop{"accept-encoding",
                                                     "connection",
                                                     "content-length",
                                                     "expect",
                                                     "host",
                                                     "keep-alive",
                                                     "proxy-connection",
                                                     "te",
                                                     "trailer",
                                                     "transfer-encoding",
                                                     "upgrade",
                                                     "proxy-authorization"};

bool is_hop_by_hop(std::string_view name) {
  return std::ranges::any_of(kHopByHop, [&](std::string_view each) {
    return each.size() == name.size() && ::strncasecmp(each.data(), name.data(), name.size()) == 0;
  });
}

HttpHeaders end_to_end(const HttpHeaders& headers) {
  HttpHeaders kept;
  for (const auto& header : headers) {
    if (!is_hop_by_hop(header.first)) kept.push_back(header);
  }
  return kept;
}

}  // namespace

Result<std::string> parse_upstream(std::string_view url) {
  TRY(http_origin(std::string(url)));
  if (url.find_first_of("?#") != url.npos) {
    return fail(ErrorCode::bad_url, harmless_url(url) + ": it has a query or a fragment",
                "name the server alone, such as http://127.0.0.1:8080/v1");
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

std::string upstream_url(std::string_view upstream, std::string_view target) {
  constexpr std::string_view kVersion = "/v1";
  bool twice = upstream.ends_with(kVersion) && target.starts_with(kVersion) &&
               (target.size() == kVersion.size() || target[kVersion.size()] == '/');
  if (twice) target.remove_prefix(kVersion.size());
  return std::string(upstream) + std::string(target);
}

std::string error_answer(const Error& error, std::string_view type) {
  boost::json::object what{{"message", error.summary()},
                           {"type", type},
                           {"code", static_cast<int>(error.code)},
                           {"what_to_do", error.what_to_do()}};
  return compact_json(boost::json::object{{"error", std::move(what)}});
}

// From the request to its end; destroyed before that, the client has disconnected.
class Recorder::Recording {
 public:
  Recording(Recorder& recorder, const HttpServerRequest& request)
      : recorder_(recorder),
        began_(recorder.loop_.now()),
        secrets_(secrets_in(request.headers, request.target, request.body)),
        redactor_(secrets_) {
    number_ = recorder_.writer_.request({request.method, harmless_target(request.target),
                                         harmless_headers(request.headers),
                                         without_secrets(request.body, secrets_)});
    ++recorder_.counts_.open;
  }
  ~Recording() {
    if (!ended_) end(ExchangeEnd::cancelled);
  }

  void head(const HttpHead& head) {
    HttpHeaders kept = harmless_headers(head.headers);
    for (auto& header : kept) header.second = without_secrets(header.second, secrets_);
    recorder_.writer_.head(number_, elapsed(), {head.status, std::move(kept)});
  }

  void piece(const std::string& bytes) {
    redactor_.add({elapsed(), bytes});
    write(redactor_.take());
  }

  void end(ExchangeEnd how, std::string_view error = {}) {
    ended_ = true;
    write(redactor_.rest());
    recorder_.writer_.end(number_, elapsed(), how, without_secrets(std::string(error), secrets_));
    Counts& counts = recorder_.counts_;
    --counts.open;
    ++(how == ExchangeEnd::complete    ? counts.complete
       : how == ExchangeEnd::cancelled ? counts.cancelled
                                       : counts.failed);
  }

 private:
  Duration elapsed() const { return recorder_.loop_.now() - began_; }
  void write(const std::vector<RecordedPiece>& pieces) {
    for (const RecordedPiece& piece : pieces) {
      recorder_.writer_.piece(number_, piece.after, piece.bytes);
    }
  }

  Recorder& recorder_;
  Time began_;
  std::vector<std::string> secrets_;
  SecretRedactor redactor_;
  std::uint64_t number_ = 0;
  bool ended_ = false;
};

Recorder::Recorder(Loop& loop, HttpClient& client, CassetteWriter& writer, std::string upstream)
    : loop_(loop), client_(client), writer_(writer), upstream_(std::move(upstream)) {}

Task<Result<void>> Recorder::answer(HttpServerRequest request, HttpReply& reply) {
  Recording recording(*this, request);
  HttpRequest onward;
  onward.method = std::move(request.method);
  onward.url = upstream_url(upstream_, request.target);
  onward.headers = end_to_end(request.headers);
  onward.body = std::move(request.body);
  co_return co_await pass_through(std::move(onward), reply, recording);
}

Task<Result<void>> Recorder::pass_through(HttpRequest request, HttpReply& reply,
                                          Recording& recording) {
  auto exchange = client_.send(std::move(request));
  auto head = co_await exchange->head();
  if (!head) {
    recording.end(ExchangeEnd::failed, head.error().context);
    constexpr int kBadGateway = 502;
    co_return co_await reply.send(kBadGateway, {{"Content-Type", "application/json"}},
                                  error_answer(head.error(), "upstream_error"));
  }
  recording.head(*head);
  CO_TRY(co_await reply.begin(head->status, end_to_end(head->headers)));
  while (true) {
    auto piece = co_await exchange->read();
    if (!piece) {
      recording.end(ExchangeEnd::failed, piece.error().context);
      co_return std::unexpected(std::move(piece).error());  // the client's stream breaks off too
    }
    if (!*piece) break;
    recording.piece(**piece);
    CO_TRY(co_await reply.write(std::move(**piece)));
  }
  recording.end(ExchangeEnd::complete);
  co_return co_await reply.end();
}

}  // namespace specgen
