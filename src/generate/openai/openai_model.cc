#include "generate/openai/openai_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "generate/openai/attempt_failure.h"
#include "generate/openai/openai_call.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr int kReasoningForksToDemote = 2;
constexpr std::size_t kMaxBackgroundTasks = 256;
// How often to renew warm connections. Hosted services keep idle connections for a minute or more, local servers
// usually for five seconds.
constexpr auto kRenewHosted = std::chrono::seconds(30);
constexpr auto kRenewLocal = std::chrono::seconds(4);
constexpr auto kAbortTimeout = std::chrono::seconds(5);
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
      background_(loop) {
  info_.name = options_.name;
  info_.prices = options_.prices;
  const ServerProfile& profile = *options_.wire.profile;
  info_.is_language_model = profile.is_language_model;
  forks_ = options_.fork ? std::vector{*options_.fork} : strategies_from(profile, profile.unprobed);
  id_prefix_ = fmt::format("sg-{:08x}", loop.random().next() & 0xffff'ffff);
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
  forks_that_reasoned_ = 0;
}

void OpenAiModel::forked(ForkStrategy strategy, bool reasoned) {
  if (strategy != forks_.front()) return;
  forks_that_reasoned_ = reasoned ? forks_that_reasoned_ + 1 : 0;
  if (forks_that_reasoned_ >= kReasoningForksToDemote) demote(strategy);
}

// All of one length: SGLang aborts every request whose id starts with the given one.
std::string OpenAiModel::next_request_id() {
  return fmt::format("{}-{:010}", id_prefix_, ++last_id_);
}

void OpenAiModel::keep_connections_warm() {
  if (options_.warm_connections == 0 || loop_.now() < warm_until_) return;
  if (background_.size() >= kMaxBackgroundTasks) return;
  const EndpointUrl& url = options_.wire.url;
  warm_until_ = loop_.now() + (url.origin.starts_with("https:") ? kRenewHosted : kRenewLocal);
  HttpRequest request;
  request.url = url.api("/models");  // costs no token
  request.secret_header = authorization(options_.key);
  background_.spawn(http_->warm(std::move(request), options_.warm_connections));
}

void OpenAiModel::abort_on_server(std::string request_id) {
  // Beyond the limit, the server notices the closed connection a little later.
  if (background_.size() < kMaxBackgroundTasks)
    background_.spawn(send_abort(std::move(request_id)));
}

Task<void> OpenAiModel::send_abort(std::string request_id) {
  HttpRequest request;
  request.method = "POST";
  request.url = options_.wire.url.native("/abort_request");
  request.headers = {{"Content-Type", "application/json"}};
  request.secret_header = authorization(options_.key);
  request.body = compact_json(boost::json::object{{"rid", request_id}, {"abort_all", false}});
  // Best effort: closing the connection stops the generation as well, a little later.
  auto answered =
      co_await with_timeout(loop_, kAbortTimeout, fetch(*http_, std::move(request), KiB(64)));
  (void)answered;
}

Task<Result<HttpResponse>> OpenAiModel::get(std::string url, Duration limit) {
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
