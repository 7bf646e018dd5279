#include "generate/author/author_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "generate/author/author_text.h"
#include "generate/author/tokens.h"
#include "generate/prompt_context.h"

namespace specgen {
namespace {

constexpr std::int64_t kMaxTokensPerDelta = 8;
constexpr std::int64_t kTokensPerInstantDelta = 64;

// One choice: its complete text, and how much of it was delivered.
struct PacedText {
  std::string reasoning;
  std::string content;
  FinishReason reason = FinishReason::stop;
  std::size_t delivered = 0;  // bytes of both together
  std::int64_t tokens = 0;

  bool is_done() const { return delivered == reasoning.size() + content.size(); }
};

std::size_t first_stop(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t first = std::string_view::npos;
  for (const std::string& stop : stops) {
    if (!stop.empty()) first = std::min(first, text.find(stop));
  }
  return first;
}

// Stop texts apply to the content; max_tokens to reasoning and content together.
PacedText paced_text_of(AuthorText text, const Request& request) {
  PacedText answer{.reasoning = std::move(text.reasoning), .content = std::move(text.content)};
  std::size_t stop = first_stop(answer.content, request.stop);
  if (stop != std::string_view::npos) answer.content.resize(stop);
  std::int64_t left = std::max<std::int64_t>(0, request.max_tokens);
  for (std::string* part : {&answer.reasoning, &answer.content}) {
    std::string_view front = first_author_tokens(*part, left);
    left -= count_author_tokens(front);
    if (front.size() == part->size()) continue;
    answer.reason = FinishReason::length;
    part->resize(front.size());
  }
  return answer;
}

class AuthorGeneration final : public Generation {
 public:
  AuthorGeneration(Loop& loop, const AuthorOptions& options, const Request& request,
                   std::vector<PacedText> answers, CallLedger* ledger, std::uint64_t call)
      : loop_(loop),
        options_(options),
        begun_(loop.now()),
        total_timeout_(request.total_timeout),
        answers_(std::move(answers)),
        usage_(prompt_usage(request)),
        ledger_(ledger),
        call_(call) {}

  ~AuthorGeneration() override {
    if (!ended_) close(CallOutcome::cancelled);
  }

  Task<Result<StreamEvent>> next() override {
    PacedText* answer = next_answer();
    Piece piece = answer ? piece_of(*answer) : Piece{};
    if (options_.tokens_per_second > 0 && answer) {
      Time due = due_at(answer->tokens + piece.tokens);
      if (due - begun_ > total_timeout_) {
        co_await loop_.sleep_until(begun_ + total_timeout_);
        close(CallOutcome::failed, "the limit is " + format_duration(total_timeout_));
        co_return fail(ErrorCode::timeout,
                       "author: the limit is " + format_duration(total_timeout_));
      }
      if (due > loop_.now()) co_await loop_.sleep_until(due);
    }
    // No co_await below: a piece that is taken is delivered, so next() is cancel-safe.
    if (!answer) co_return StreamEvent(finish());
    co_return StreamEvent(take(*answer, std::move(piece)));
  }

 private:
  struct Piece {
    DeltaKind kind = DeltaKind::content;
    std::string text;
    std::int64_t tokens = 0;
  };

  Time due_at(std::int64_t tokens) const {
    return begun_ + options_.first_token +
           from_seconds(static_cast<double>(tokens) / options_.tokens_per_second);
  }

  // All choices are streamed at the same rate: the one with the fewest tokens is next.
  PacedText* next_answer() {
    PacedText* next = nullptr;
    for (PacedText& answer : answers_) {
      if (!answer.is_done() && (!next || answer.tokens < next->tokens)) next = &answer;
    }
    return next;
  }

  // A few tokens of one kind; their number varies between deltas as it does with servers.
  Piece piece_of(const PacedText& answer) const {
    bool is_reasoning = answer.delivered < answer.reasoning.size();
    std::string_view rest =
        is_reasoning
            ? std::string_view(answer.reasoning).substr(answer.delivered)
            : std::string_view(answer.content).substr(answer.delivered - answer.reasoning.size());
    std::int64_t wanted = options_.tokens_per_second > 0
                              ? 1 + answer.tokens * 5 % kMaxTokensPerDelta
                              : kTokensPerInstantDelta;
    std::string_view front = first_author_tokens(rest, wanted);
    return {is_reasoning ? DeltaKind::reasoning : DeltaKind::content, std::string(front),
            count_author_tokens(front)};
  }

  Delta take(PacedText& answer, Piece piece) {
    answer.delivered += piece.text.size();
    answer.tokens += piece.tokens;
    usage_.completion_tokens += piece.tokens;
    if (piece.kind == DeltaKind::reasoning) usage_.reasoning_tokens += piece.tokens;
    if (ledger_) arrived_ += piece.text;
    return {.kind = piece.kind,
            .text = std::move(piece.text),
            .choice = static_cast<int>(&answer - answers_.data()),
            .token_ids = {}};
  }

  Ended finish() {
    Ended ended{.reasons = {}, .usage = usage_};
    for (const PacedText& answer : answers_) ended.reasons.push_back(answer.reason);
    close(CallOutcome::ended);
    return ended;
  }

  void close(CallOutcome outcome, std::string error = {}) {
    ended_ = true;
    if (!ledger_) return;
    std::string evidence = outcome == CallOutcome::ended ? std::string() : std::move(arrived_);
    ledger_->ended(call_, outcome, usage_, loop_.now(), std::move(error), std::move(evidence));
  }

  Loop& loop_;
  const AuthorOptions options_;
  Time begun_;
  Duration total_timeout_;
  std::vector<PacedText> answers_;
  Usage usage_;
  std::string arrived_;  // for the ledger, if the generation is cancelled
  CallLedger* ledger_;
  std::uint64_t call_;
  bool ended_ = false;
};

}  // namespace

AuthorModel::AuthorModel(Loop& loop, AuthorOptions options, CallLedger* ledger, std::string name)
    : loop_(loop), options_(options), ledger_(ledger) {
  info_.name = std::move(name);
  info_.is_language_model = false;
}

Task<Result<std::unique_ptr<Generation>>> AuthorModel::start(Request request) {
  if (request.count < 1 || request.count > kMaxChoices) {
    co_return fail(ErrorCode::bad_usage,
                   fmt::format("the author gives 1 to {} answers at a time", kMaxChoices));
  }
  std::vector<PacedText> answers;
  for (int choice = 0; choice < request.count; ++choice) {
    answers.push_back(paced_text_of(CO_TRY(author_text(options_, request, choice)), request));
  }
  std::uint64_t call = 0;
  if (ledger_) {
    call = ledger_->sent(call_record(info_, request, loop_.now()));
  }
  co_return std::make_unique<AuthorGeneration>(loop_, options_, request, std::move(answers),
                                               ledger_, call);
}

Result<std::unique_ptr<Model>> open_author(Loop& loop, std::string_view pace, std::uint64_t seed,
                                           CallLedger* ledger) {
  AuthorOptions options = TRY(author_at_pace(pace));
  options.seed = seed;
  return std::make_unique<AuthorModel>(loop, options, ledger);
}

Usage prompt_usage(const Request& request) {
  Usage usage{.cached_known = true};
  for (const Message& message : request.messages) {
    // The messages before an answer were a prompt before, and are in the cache.
    if (message.speaker == Speaker::assistant) usage.cached_tokens = usage.prompt_tokens;
    // The prompt as a language model would get it, without the sources in the context block.
    usage.prompt_tokens += count_author_tokens(prompt_for_language_models(message.text));
  }
  if (request.prefix) {
    // A server that continues its own stream has all of it in its cache.
    usage.prompt_tokens += count_author_tokens(request.prefix->text);
    usage.cached_tokens = usage.prompt_tokens;
  }
  usage.prompt_tokens += count_author_tokens(request.answer_start);
  return usage;
}

}  // namespace specgen
