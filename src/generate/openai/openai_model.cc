#include "generate/openai/openai_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "generate/openai/attempt_failure.h"
#include "generate/openai/openai_call.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr int kThoughtfulForksToDemote = 2;
constexpr std::size_t kMaxErrands = 256;
// How long servers keep a connection that is idle: those on the web a minute and more, the usual local ones
// five seconds, where a handshake costs little but not nothing.
constexpr auto kKeptOnTheWeb = std::chrono::seconds(30);
constexpr auto kKeptNearby = std::chrono::seconds(4);
constexpr auto kAbortPatience = std::chrono::seconds(5);
constexpr int kMaxAnswers = 64;

std::vector<ForkStrategy> strategies_from(const ServerProfile& profile, ForkStrategy first) {
  auto at = std::ranges::find(profile.forks, first);
  return {at, profile.forks.end()};
}

}  // namespace

OpenAiModel::OpenAiModel(Loop& loop, std::unique_ptr<HttpClient> http,
                         std::shared_ptr<EndpointGate> gate, CallLedger& ledger,
                         OpenAiOptions options)
    : loop_(loop),
      http_(std::move(http)),
      gate_(std::move(gate)),
      ledger_(ledger),
      options_(std::move(options)),
      materials_(loop, *http_, options_.wire, options_.key),
      errands_(loop) {
  info_.name = options_.name;
  info_.prices = options_.prices;
  const ServerProfile& profile = *options_.wire.profile;
  info_.is_language_model = profile.is_language_model;
  forks_ = options_.fork ? std::vector{*options_.fork} : strategies_from(profile, profile.unprobed);
  id_stem_ = fmt::format("sg-{:08x}", loop.random().next() & 0xffff'ffff);
}

OpenAiModel::~OpenAiModel() = default;

Task<Result<std::unique_ptr<Generation>>> OpenAiModel::start(Request request) {
  if (request.messages.empty())
    co_return fail(ErrorCode::model_refused, "a request without a message");
  request.count = std::clamp(request.count, 1, kMaxAnswers);
  auto call = std::make_unique<OpenAiCall>(*this, std::move(request));
  CO_TRY(co_await call->begin());
  co_return std::move(call);
}

bool OpenAiModel::take_profile(const ServerProfile& profile) {
  if (!options_.profile_is_guess) return false;
  options_.wire.profile = &profile;
  info_.is_language_model = profile.is_language_model;
  use({});
  return true;
}

void OpenAiModel::use(const ProbedTraits& traits) {
  const ServerProfile& profile = *options_.wire.profile;
  opener_ = traits.opener;
  forks_ = options_.fork ? std::vector{*options_.fork}
                         : strategies_from(profile, traits.fork.value_or(profile.unprobed));
}

void OpenAiModel::demote(ForkStrategy strategy) {
  if (forks_.size() > 1) std::erase(forks_, strategy);
  thoughtful_forks_ = 0;
}

void OpenAiModel::forked(ForkStrategy strategy, bool thought) {
  if (strategy != forks_.front()) return;
  thoughtful_forks_ = thought ? thoughtful_forks_ + 1 : 0;
  if (thoughtful_forks_ >= kThoughtfulForksToDemote) demote(strategy);
}

// All of one length: SGLang aborts every request whose id begins with the one it is told.
std::string OpenAiModel::next_request_id() {
  return fmt::format("{}-{:010}", id_stem_, ++last_id_);
}

void OpenAiModel::keep_connections_warm() {
  if (options_.warm_connections == 0 || loop_.now() < warm_until_) return;
  if (errands_.size() >= kMaxErrands) return;
  const EndpointUrl& url = options_.wire.url;
  warm_until_ = loop_.now() + (url.origin.starts_with("https:") ? kKeptOnTheWeb : kKeptNearby);
  HttpRequest request;
  request.url = url.api("/models");  // costs no token
  request.secret_header = authorization(options_.key);
  errands_.spawn(http_->warm(std::move(request), options_.warm_connections));
}

void OpenAiModel::abort_on_server(std::string request_id) {
  // Beyond this the server's own look at the closed connection must do.
  if (errands_.size() < kMaxErrands) errands_.spawn(send_abort(std::move(request_id)));
}

Task<void> OpenAiModel::send_abort(std::string request_id) {
  HttpRequest request;
  request.method = "POST";
  request.url = options_.wire.url.native("/abort_request");
  request.headers = {{"Content-Type", "application/json"}};
  request.secret_header = authorization(options_.key);
  request.body = compact_json(boost::json::object{{"rid", request_id}, {"abort_all", false}});
  // It is asked for as a favour: the connection is closed, which stops the generation a little later.
  auto answered =
      co_await with_timeout(loop_, kAbortPatience, fetch(*http_, std::move(request), KiB(64)));
  (void)answered;
}

Task<Result<HttpResponse>> OpenAiModel::look(std::string url, Duration limit) {
  HttpRequest request;
  request.url = url;
  request.secret_header = authorization(options_.key);
  co_return co_await with_timeout(loop_, limit, fetch(*http_, std::move(request), MiB(4)),
                                  std::move(url));
}

std::string OpenAiModel::without_key(std::string text) const {
  return specgen::without_key(std::move(text), options_.key);
}

}  // namespace specgen
