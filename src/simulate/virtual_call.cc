#include "simulate/virtual_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace specgen {
namespace {

constexpr std::size_t kQueuedEvents = 64;
constexpr auto kRefusedAfter = std::chrono::milliseconds(50);  // HTTP refusal
constexpr auto kConnectFailsAfter = std::chrono::seconds(1);   // unreachable
constexpr std::array<Fault, 3> kStreamTroubles{Fault::stream_stall, Fault::stream_cut,
                                               Fault::stream_garbage};

bool writes_kernels(const PromptContext& context) {
  return context.role == "writer" || repairs_its_parent(context.role) ||
         answers_with_changes(context.role);
}

double best_of(const PromptContext& context) {
  double best = 0;
  for (const PromptFeedback& feedback : context.feedback) {
    if (feedback.verdict == "ok") best = std::max(best, feedback.speedup);
  }
  return best;
}

std::int64_t rounded_tokens(double tokens) {
  return std::max<std::int64_t>(1, std::llround(tokens));
}

}  // namespace

// The ledger row of one attempt, completed however the attempt ends, also by destroying its frame.
class VirtualCall::LedgerRow {
 public:
  LedgerRow(VirtualCall& call, int attempt) : call_(call) {
    usage.cached_known = true;
    CallRecord record = call_record(call.model_.info_, call.request_, call.loop_.now());
    record.attempt = attempt;
    id_ = call.model_.ledger_.sent(std::move(record));
  }
  ~LedgerRow() {
    if (!is_recorded_) record(CallOutcome::cancelled, usage, {});
  }
  LedgerRow(const LedgerRow&) = delete;

  void ended() { record(CallOutcome::ended, usage, {}); }
  void failed(const Error& error, bool reached) {
    record(CallOutcome::failed, reached ? usage : Usage{}, error.summary());
  }

  Usage usage;

 private:
  void record(CallOutcome outcome, const Usage& paid, std::string error) {
    is_recorded_ = true;
    call_.model_.ledger_.ended(id_, outcome, paid, call_.loop_.now(), std::move(error));
  }

  VirtualCall& call_;
  std::uint64_t id_ = 0;
  bool is_recorded_ = false;
};

VirtualCall::VirtualCall(VirtualModel& model, Request request, Random random)
    : model_(model),
      loop_(model.loop_),
      request_(std::move(request)),
      random_(random),
      total_ends_(loop_.now() + request_.total_timeout),
      sent_or_not_(loop_),
      events_(loop_, kQueuedEvents),
      group_(loop_) {
  plan_ = request_.prefix ? plan_fork() : plan_main();
}

VirtualCall::~VirtualCall() = default;

std::int64_t VirtualCall::prompt_tokens() const {
  std::int64_t tokens = estimate_tokens(request_.answer_start);
  for (const Message& message : request_.messages) tokens += estimate_tokens(message.text);
  if (request_.prefix) tokens += estimate_tokens(request_.prefix->text);
  return tokens;
}

std::string VirtualCall::answer_with(KernelTruth truth) {
  if (random_.chance(model_.settings_.writing.no_kernel)) {
    return "This cannot be done any faster than the baseline does it.\n";
  }
  truth.poison = model_.faults_.occurs(Fault::poison);
  truth.tunable = model_.settings_.skill.tunable;
  std::string kernel = virtual_kernel(truth);
  // The answer continues the start given in the request.
  std::string answer = request_.answer_start.contains("```") ? std::string() : "```cpp\n";
  answer += kernel + "```\n";
  for (const std::string& stop : request_.stop) {
    std::size_t end = stop.empty() ? std::string::npos : answer.find(stop);
    if (end != std::string::npos) answer.resize(end);
  }
  return answer;
}

VirtualCall::Plan VirtualCall::plan_main() {
  PromptContext context;
  if (!request_.messages.empty()) {
    auto found = find_prompt_context(request_.messages.back().text);
    if (found && *found) context = std::move(**found);
  }
  if (!writes_kernels(context)) return plan_advice(context);
  const WritingSettings& writing = model_.settings_.writing;
  TraceAim aim = model_.skill_.aim(best_of(context), repairs_its_parent(context.role), random_);
  Plan plan;
  plan.content_tokens =
      rounded_tokens(random_.log_normal(writing.answer_tokens, writing.answer_sigma));
  if (request_.mode == Mode::reason) {
    std::int64_t reasoning =
        rounded_tokens(random_.log_normal(writing.reasoning_tokens, writing.reasoning_sigma));
    plan.trace =
        std::make_unique<VirtualTraceWriter>(model_.settings_.trace, model_.skill_, aim, reasoning,
                                             model_.faults_, random_.fork("trace"));
    draw_fault(reasoning);
    plan.contents = {answer_with(aim.answer)};
  } else {
    for (int choice = 0; choice < request_.count; ++choice) {
      plan.contents.push_back(answer_with(model_.skill_.fork(aim, 0, random_)));
    }
    draw_fault(plan.content_tokens);
  }
  return plan;
}

VirtualCall::Plan VirtualCall::plan_fork() {
  Plan plan;
  const WritingSettings& writing = model_.settings_.writing;
  plan.content_tokens =
      rounded_tokens(random_.log_normal(writing.answer_tokens, writing.answer_sigma));
  auto position = read_position(request_.prefix->text);
  if (!position) position.emplace();
  for (int choice = 0; choice < request_.count; ++choice) {
    plan.contents.push_back(
        answer_with(model_.skill_.fork(position->aim, position->share, random_)));
  }
  draw_fault(plan.content_tokens);
  return plan;
}

VirtualCall::Plan VirtualCall::plan_advice(const PromptContext& context) {
  Plan plan;
  plan.content_tokens = rounded_tokens(model_.settings_.writing.advice_tokens);
  plan.contents.assign(
      static_cast<std::size_t>(request_.count),
      fmt::format(
          "{{\"role\": \"{}\", \"critical_issue\": \"rows are read twice\", "
          "\"bottleneck\": \"memory bandwidth\", \"optimisation_method\": \"join the passes\", "
          "\"modification_plan\": \"keep a running maximum\", \"lessons\": []}}\n",
          context.role));
  draw_fault(plan.content_tokens);
  return plan;
}

// At most one fault, at a random place in the stream.
void VirtualCall::draw_fault(std::int64_t all_tokens) {
  for (Fault fault : kStreamTroubles) {
    double rate = model_.faults_.settings().rate(fault);
    if (rate == 0 || fault_ || !model_.faults_.chance(fault).chance(rate)) continue;
    fault_ = fault;
    // Many of them before the first token, where another attempt helps.
    double where = std::max(0.0, model_.faults_.chance(fault).uniform(-0.25, 1));
    fault_after_ = std::llround(where * static_cast<double>(all_tokens));
  }
}

Task<Result<void>> VirtualCall::begin() {
  group_.spawn(run());
  co_await sent_or_not_.wait();
  if (unsent_) co_return std::unexpected(*unsent_);
  co_return Result<void>();
}

Task<Result<StreamEvent>> VirtualCall::next() {
  std::optional<Result<StreamEvent>> event = co_await events_.receive();
  SG_ASSERT(event, "next() after the end of a generation");
  co_return std::move(*event);
}

Task<void> VirtualCall::run() {
  Result<void> answered = co_await answer();
  if (!answered) {
    if (!was_sent_) unsent_ = answered.error();
    sent_or_not_.set();
    co_await events_.send(std::unexpected(std::move(answered).error()));
  }
  events_.close();
}

Task<Result<void>> VirtualCall::answer() {
  for (int number = 1;; ++number) {
    Outcome outcome = co_await attempt(number);
    if (outcome) co_return Result<void>();
    Failure& failure = outcome.error();
    if (!failure.worth_retrying || delivered_ || number >= model_.retry_.attempts) {
      co_return std::unexpected(std::move(failure.error));
    }
    Duration wait = model_.retry_.wait_after(number, random_);
    if (loop_.now() + wait >= total_ends_) co_return std::unexpected(std::move(failure.error));
    co_await loop_.sleep(wait);
  }
}

Task<VirtualCall::Outcome> VirtualCall::attempt(int number) {
  auto entered = co_await model_.gate_.enter(total_ends_);
  if (!entered) co_return std::unexpected(Failure{.error = entered.error()});
  EndpointGate::Pass pass = std::move(*entered);
  LedgerRow row(*this, number);
  was_sent_ = true;
  sent_or_not_.set();
  VirtualEndpoint& endpoint = model_.endpoint_;
  if (endpoint.is_away()) {
    co_await loop_.sleep(kConnectFailsAfter);
    pass.failed();
    Error error{ErrorCode::endpoint_unreachable, "virtual: unreachable", {}};
    row.failed(error, false);
    co_return std::unexpected(Failure{.error = std::move(error), .worth_retrying = true});
  }
  if (endpoint.is_overloaded()) {
    co_await loop_.sleep(kRefusedAfter);
    pass.throttled(std::nullopt);
    Error error{ErrorCode::model_overloaded, "HTTP 429: virtual: too many requests", {}};
    row.failed(error, false);
    co_return std::unexpected(Failure{.error = std::move(error), .worth_retrying = true});
  }
  VirtualEndpoint::Stream counted(endpoint);
  Outcome outcome = co_await stream(row);
  if (!outcome) {
    if (outcome.error().server_is_ill) pass.failed();
    row.failed(outcome.error().error, true);
    co_return outcome;
  }
  pass.succeeded();
  row.ended();
  Ended ended{.reasons = {}, .usage = row.usage};
  ended.reasons.assign(static_cast<std::size_t>(request_.count), plan_.reason);
  co_await events_.send(StreamEvent(std::move(ended)));
  co_return outcome;
}

Task<VirtualCall::Outcome> VirtualCall::stream(LedgerRow& row) {
  VirtualEndpoint& endpoint = model_.endpoint_;
  const std::int64_t prompt = prompt_tokens();
  row.usage.prompt_tokens = prompt;
  row.usage.cached_tokens = endpoint.cached(request_.affinity, prompt);
  co_await loop_.sleep(endpoint.reading_time(prompt - row.usage.cached_tokens));
  endpoint.hold(request_.affinity, prompt);

  std::int64_t left = std::max<std::int64_t>(1, request_.max_tokens);
  while (plan_.trace && !plan_.trace->is_done()) {
    std::int64_t tokens = std::min(plan_.trace->next_tokens(), left);
    if (Outcome written = co_await write(tokens, row); !written) co_return written;
    row.usage.reasoning_tokens += tokens;
    left -= tokens;
    endpoint.hold(request_.affinity, prompt + row.usage.completion_tokens);
    co_await deliver(DeltaKind::reasoning, plan_.trace->next(), 0);
    if (left == 0) {
      plan_.reason = FinishReason::length;
      co_return Outcome();
    }
  }
  // Choices are written concurrently.
  bool cut_off = plan_.content_tokens > left;
  std::int64_t tokens = cut_off ? left : plan_.content_tokens;
  if (Outcome written = co_await write(tokens, row); !written) co_return written;
  row.usage.completion_tokens += tokens * (request_.count - 1);
  if (cut_off) plan_.reason = FinishReason::length;
  for (std::size_t choice = 0; choice < plan_.contents.size(); ++choice) {
    std::string text = plan_.contents[choice];
    if (cut_off) text.resize(text.size() / 2);
    co_await deliver(DeltaKind::content, std::move(text), static_cast<int>(choice));
  }
  co_return Outcome();
}

Task<VirtualCall::Outcome> VirtualCall::write(std::int64_t tokens, LedgerRow& row) {
  std::int64_t done = row.usage.completion_tokens;
  if (fault_ && fault_after_ < done + tokens) {
    Fault fault = *std::exchange(fault_, std::nullopt);
    bool stalls = fault == Fault::stream_stall;
    co_await loop_.sleep(stalls ? request_.idle_timeout
                                : model_.endpoint_.writing_time(tokens) / 2);
    model_.faults_.count(fault);
    if (stalls) {
      co_return std::unexpected(
          Failure{.error = {ErrorCode::model_silent, "virtual: no token received", {}},
                  .server_is_ill = true});
    }
    std::string what = fault == Fault::stream_cut ? "virtual: the connection broke"
                                                  : "virtual: an event is not a chunk";
    co_return std::unexpected(Failure{.error = {ErrorCode::stream_broken, std::move(what), {}},
                                      .worth_retrying = true,
                                      .server_is_ill = true});
  }
  Duration takes = model_.endpoint_.writing_time(tokens);
  if (loop_.now() + takes > total_ends_) {
    co_await loop_.sleep_until(std::max(total_ends_, loop_.now()));
    co_return std::unexpected(
        Failure{.error = {ErrorCode::timeout, "virtual: the answer was not complete in time", {}}});
  }
  co_await loop_.sleep(takes);
  if (model_.endpoint_.is_away()) {
    co_return std::unexpected(
        Failure{.error = {ErrorCode::stream_broken, "virtual: the server went away", {}},
                .worth_retrying = true,
                .server_is_ill = true});
  }
  row.usage.completion_tokens += tokens;
  co_return Outcome();
}

Task<void> VirtualCall::deliver(DeltaKind kind, std::string text, int choice) {
  delivered_ = true;
  Delta delta{.kind = kind, .text = std::move(text), .choice = choice, .token_ids = {}};
  co_await events_.send(StreamEvent(std::move(delta)));
}

}  // namespace specgen
