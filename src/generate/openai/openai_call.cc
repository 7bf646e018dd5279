#include "generate/openai/openai_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/race.h"

namespace specgen {
namespace {

constexpr std::size_t kQueuedEvents = 64;
constexpr std::size_t kMaxErrorBody = 16 * 1024;
// How long to wait for usage, and for the server to close, after every answer has ended.
constexpr auto kGraceForUsage = std::chrono::seconds(2);
constexpr auto kGraceForClosing = std::chrono::milliseconds(20);

// Whether the server does not support what a fork strategy needs, rather than having failed this time.
bool is_refusal(const Error& error) {
  return error.code == ErrorCode::model_refused || error.code == ErrorCode::not_an_endpoint ||
         error.code == ErrorCode::bad_json;
}

}  // namespace

// The attempt's row in the ledger, from sending to any end, including the destruction of the attempt's frame.
class OpenAiCall::LedgerRow {
 public:
  LedgerRow(OpenAiCall& call, const ServerRequest& part, const AnswerStream& stream)
      : call_(call), stream_(stream) {
    CallRecord record = call_record(call.model_.info(), call.request_, call.loop_.now());
    record.attempt = part.attempt;
    id_ = call.model_.ledger_.sent(std::move(record));
  }
  ~LedgerRow() {
    if (!recorded_) record_end(CallOutcome::cancelled, stream_.usage(), {}, stream_.evidence());
  }
  LedgerRow(const LedgerRow&) = delete;

  void ended() { record_end(CallOutcome::ended, stream_.usage(), {}, {}); }
  // `reached`: the model may have worked on it.
  void failed(const Error& error, bool reached) {
    record_end(CallOutcome::failed, reached ? stream_.usage() : Usage{}, error.summary(),
               stream_.evidence());
  }

 private:
  void record_end(CallOutcome outcome, Usage usage, std::string error, std::string evidence) {
    recorded_ = true;
    call_.model_.ledger_.ended(id_, outcome, usage, call_.loop_.now(), std::move(error),
                               std::move(evidence));
  }

  OpenAiCall& call_;
  const AnswerStream& stream_;
  std::uint64_t id_ = 0;
  bool recorded_ = false;
};

// Sends an abort, to servers that need one, when a generation is left before its end.
class OpenAiCall::AbortGuard {
 public:
  AbortGuard(OpenAiModel& model, std::string request_id)
      : model_(model), request_id_(std::move(request_id)) {}
  ~AbortGuard() {
    if (armed_ && model_.wire().profile->takes_request_id) model_.abort_on_server(request_id_);
  }
  AbortGuard(const AbortGuard&) = delete;
  void disarm() { armed_ = false; }

 private:
  OpenAiModel& model_;
  std::string request_id_;
  bool armed_ = true;
};

OpenAiCall::OpenAiCall(OpenAiModel& model, Request request)
    : model_(model),
      loop_(model.loop_),
      request_(std::move(request)),
      total_ends_(loop_.now() + request_.total_timeout),
      sent_or_not_(loop_),
      events_(loop_, kQueuedEvents),
      group_(loop_) {
  int per_request = model_.wire().profile->choices ? request_.count : 1;
  for (int first = 0; first < request_.count; first += per_request) {
    ServerRequest part;
    part.first_choice = first;
    part.choices = per_request;
    parts_.push_back(std::move(part));
  }
  if (!model_.wire().profile->choices) request_.count = 1;  // of each part
}

OpenAiCall::~OpenAiCall() = default;

Task<Result<void>> OpenAiCall::begin() {
  parts_open_ = parts_.size();
  for (ServerRequest& part : parts_) group_.spawn(run(part));
  co_await sent_or_not_.wait();
  if (unsent_) co_return std::unexpected(*unsent_);
  co_return Result<void>();
}

Task<Result<StreamEvent>> OpenAiCall::next() {
  std::optional<Result<StreamEvent>> event = co_await events_.receive();
  SG_ASSERT(event, "next() is called after the generation has ended");
  co_return std::move(*event);
}

Task<void> OpenAiCall::run(ServerRequest& part) {
  Result<void> answered = co_await answer(part);
  if (!answered) {
    Error error = std::move(answered).error();
    bool any_sent = std::ranges::any_of(parts_, &ServerRequest::was_sent);
    if (!any_sent && !unsent_) unsent_ = error;
    sent_or_not_.set();
    co_await events_.send(std::unexpected(std::move(error)));
    events_.close();
    group_.cancel();  // the other parts: the answer would be incomplete
    co_return;
  }
  if (--parts_open_ > 0) co_return;
  Ended all;
  for (ServerRequest& each : parts_) {
    all.reasons.insert(all.reasons.end(), each.ended.reasons.begin(), each.ended.reasons.end());
    const Usage& usage = each.ended.usage;
    all.usage.prompt_tokens += usage.prompt_tokens;
    all.usage.cached_tokens += usage.cached_tokens;
    all.usage.completion_tokens += usage.completion_tokens;
    all.usage.reasoning_tokens += usage.reasoning_tokens;
    all.usage.estimated = all.usage.estimated || usage.estimated;
    all.usage.cached_known = all.usage.cached_known || usage.cached_known;
  }
  co_await events_.send(StreamEvent(std::move(all)));
  events_.close();
}

Task<Result<void>> OpenAiCall::answer(ServerRequest& part) {
  if (request_.prefix) {
    std::ranges::copy_if(
        model_.forks(), std::back_inserter(part.strategies),
        [&](ForkStrategy strategy) { return can_fork(strategy, model_.wire(), request_); });
    if (part.strategies.empty()) {
      co_return fail(ErrorCode::model_refused,
                     "this server does not support the configured fork strategy",
                     "remove `fork` of this model from specgen.toml, or choose another");
    }
  }
  const RetryPolicy& retry = model_.options_.retry;
  std::optional<Error> first_refusal;
  int failed = 0;
  while (true) {
    std::string request_id = model_.next_request_id();
    std::optional<AttemptFailure> failure;
    bool refused = true;
    auto wire = co_await build(part, request_id);
    if (!wire) {
      failure = AttemptFailure{.error = wire.error(), .form_refused = true};
      refused = is_refusal(wire.error());
    } else {
      Outcome outcome = co_await attempt(part, std::move(*wire), std::move(request_id));
      if (outcome) co_return Result<void>();
      failure = std::move(outcome.error());
    }
    if (failure->form_refused && part.strategies.size() > 1) {
      if (!first_refusal) first_refusal = failure->error;
      if (refused) part.refused.push_back(part.strategies.front());
      part.strategies.erase(part.strategies.begin());
      continue;
    }
    // If every strategy is refused, report the refusal of the preferred one.
    if (failure->form_refused && first_refusal) co_return std::unexpected(*first_refusal);
    ++failed;
    if (!failure->worth_retrying || failed >= retry.attempts) {
      co_return std::unexpected(std::move(failure->error));
    }
    Duration wait = std::max(retry.wait_after(failed, loop_.random()),
                             failure->wait.value_or(Duration::zero()));
    if (loop_.now() + wait >= deadline(part)) co_return std::unexpected(std::move(failure->error));
    co_await loop_.sleep(wait);
  }
}

Task<Result<WireRequest>> OpenAiCall::build(ServerRequest& part, const std::string& request_id) {
  SendingOptions sending;
  sending.request_id = request_id;
  if (!request_.prefix) {
    sending.prompt_text = model_.forks().front() == ForkStrategy::raw_text;
    co_return chat_request(model_.wire(), request_, sending);
  }
  ForkStrategy strategy = part.strategies.front();
  ForkMaterial material = CO_TRY(co_await model_.materials_.prepare(strategy, request_));
  co_return fork_request(strategy, model_.wire(), request_, material, sending);
}

AnswerOptions OpenAiCall::answer_options(const ServerRequest& part, const WireRequest& wire) const {
  AnswerOptions options;
  options.choices = part.choices;
  options.first_choice = part.first_choice;
  options.opener = request_.mode == Mode::reason && !request_.prefix
                       ? model_.opener_
                       : ThinkSplitter::Opener::in_text;
  options.echoed_reasoning = wire.echoed_reasoning;
  options.echoed_content = wire.echoed_content;
  options.usage_counts_one_choice = model_.wire().profile->usage_counts_one_choice;
  for (const Message& message : request_.messages) {
    options.estimated_prompt_tokens += estimate_tokens(message.text);
  }
  if (request_.prefix) options.estimated_prompt_tokens += estimate_tokens(request_.prefix->text);
  options.key = model_.options_.key;
  return options;
}

Task<OpenAiCall::Outcome> OpenAiCall::attempt(ServerRequest& part, WireRequest wire,
                                              std::string request_id) {
  auto entered = co_await model_.gate_->enter(part.was_sent ? deadline(part) : total_ends_);
  if (!entered) co_return std::unexpected(AttemptFailure{.error = entered.error()});
  EndpointGate::Pass pass = std::move(*entered);
  ++part.attempt;
  if (!std::exchange(part.was_sent, true)) {
    part.silence_ends = loop_.now() + request_.idle_timeout;
  }

  AnswerStream stream(answer_options(part, wire));
  LedgerRow row(*this, part, stream);
  AbortGuard abort(model_, std::move(request_id));
  HttpRequest request;
  request.method = "POST";
  request.url = std::move(wire.url);
  request.headers = std::move(wire.headers);
  request.secret_header = authorization(model_.options_.key);
  request.body = std::move(wire.body);
  auto exchange = model_.http_->send(std::move(request));
  sent_or_not_.set();

  Outcome outcome = co_await await_stream(*exchange, part);
  bool streams = outcome.has_value();
  if (streams) outcome = co_await follow(*exchange, part, stream);
  if (!outcome) {
    AttemptFailure& failure = outcome.error();
    if (failure.throttled) {
      pass.throttled(failure.wait);
    } else if (failure.server_is_ill) {
      pass.failed();
    }
    bool silent =
        failure.error.code == ErrorCode::model_silent || failure.error.code == ErrorCode::timeout;
    if (!streams && !silent) abort.disarm();  // the generation never started
    row.failed(failure.error, streams || silent);
    // A second answer would not continue the text that was delivered.
    if (stream.has_delivered()) failure.worth_retrying = failure.form_refused = false;
    co_return outcome;
  }
  pass.succeeded();
  abort.disarm();
  row.ended();
  part.ended.reasons = stream.reasons();
  part.ended.usage = stream.usage();
  record_strategies(part, stream);
  co_return outcome;
}

void OpenAiCall::record_strategies(ServerRequest& part, const AnswerStream& stream) {
  model_.materials_.learn_prompt(request_.messages, stream.prompt_text());
  if (!stream.reasoning().empty()) model_.reasoning_in_tags_ = stream.reasoning_in_content();
  if (!request_.prefix) return;
  for (ForkStrategy refused : part.refused) model_.demote(refused);
  model_.forked(part.strategies.front(), !stream.reasoning().empty());
}

// Returns when the server has started a stream of events.
Task<OpenAiCall::Outcome> OpenAiCall::await_stream(HttpExchange& exchange, ServerRequest& part) {
  Time began = loop_.now();
  auto raced = co_await race(exchange.head(), loop_.sleep_until(deadline(part)));
  if (raced.second()) co_return std::unexpected(too_late(part, began));
  Result<HttpHead>& head = *raced.first();
  std::string_view key = model_.options_.key;
  if (!head) co_return std::unexpected(failure_of_connection(std::move(head.error()), key));
  std::string_view type = header_value(head->headers, "content-type");
  if (head->status == 200 && type.contains("event-stream")) co_return Outcome();
  std::string body = co_await beginning_of(exchange, part);
  co_return std::unexpected(failure_of_answer(*head, body, loop_.wall_now(), key));
}

// Enough of the body for an error message.
Task<std::string> OpenAiCall::beginning_of(HttpExchange& exchange, ServerRequest& part) {
  std::string body;
  while (body.size() < kMaxErrorBody) {
    auto raced = co_await race(exchange.read(), loop_.sleep_until(deadline(part)));
    if (raced.second()) break;
    Result<std::optional<std::string>>& piece = *raced.first();
    if (!piece || !*piece) break;
    body += **piece;
  }
  co_return body;
}

Task<OpenAiCall::Outcome> OpenAiCall::follow(HttpExchange& exchange, ServerRequest& part,
                                             AnswerStream& stream) {
  Time last_data = loop_.now();
  std::uint64_t progress = 0;
  std::vector<StreamEvent> events;
  while (true) {
    Time limit = deadline(part);
    bool only_usage_is_missing = stream.all_choices_ended();
    if (only_usage_is_missing) limit = std::min(limit, last_data + kGraceForUsage);
    if (stream.done()) limit = std::min(limit, last_data + kGraceForClosing);
    auto raced = co_await race(exchange.read(), loop_.sleep_until(limit));
    bool complete = stream.done() || only_usage_is_missing;
    if (raced.second()) {
      if (!complete) co_return std::unexpected(too_late(part, last_data));
      co_return stream.finish(events);  // produces no event: all text was delivered
    }
    Result<std::optional<std::string>>& piece = *raced.first();
    if (!piece && !complete) {
      co_return std::unexpected(
          failure_of_connection(std::move(piece.error()), model_.options_.key));
    }
    bool at_end = !piece || !*piece;
    Outcome taken = at_end ? stream.finish(events) : stream.feed(**piece, events);
    if (!stream.done()) last_data = loop_.now();
    if (stream.progress() != std::exchange(progress, stream.progress())) {
      part.silence_ends = loop_.now() + request_.idle_timeout;
    }
    co_await deliver(events);
    if (!taken || at_end) co_return taken;
  }
}

Task<void> OpenAiCall::deliver(std::vector<StreamEvent>& events) {
  const bool may_be_forked = request_.mode == Mode::reason && !request_.prefix;
  if (may_be_forked && !events.empty()) model_.keep_connections_warm();
  for (StreamEvent& event : events) co_await events_.send(std::move(event));
  events.clear();
}

Time OpenAiCall::deadline(const ServerRequest& part) const {
  return part.was_sent ? std::min(part.silence_ends, total_ends_) : total_ends_;
}

AttemptFailure OpenAiCall::too_late(const ServerRequest& part, Time last_data) const {
  Time now = loop_.now();
  if (total_ends_ <= part.silence_ends) {
    return {.error = Error{ErrorCode::timeout,
                           fmt::format("the answer was incomplete after {}",
                                       format_duration(request_.total_timeout)),
                           {}}};
  }
  // A server that still sends keepalives is stuck or overloaded, but not gone.
  bool keepalives = last_data + request_.idle_timeout / 2 > now;
  return {.error = Error{ErrorCode::model_silent,
                         fmt::format("no token for {}; {}", format_duration(request_.idle_timeout),
                                     keepalives ? "only keepalives" : "no data at all"),
                         {}},
          .server_is_ill = true};
}

}  // namespace specgen
