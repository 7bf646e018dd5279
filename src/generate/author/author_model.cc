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
constexpr std::int64_t kTokensPerDeltaAtOnce = 64;  // of an author that does not wait

// One choice: what there is to say, and how far it has come.
struct Voice {
  std::string reasoning;
  std::string content;
  FinishReason reason = FinishReason::stop;
  std::size_t said = 0;  // bytes of both together
  std::int64_t tokens = 0;

  bool is_done() const { return said == reasoning.size() + content.size(); }
};

std::size_t first_stop(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t first = std::string_view::npos;
  for (const std::string& stop : stops) {
    if (!stop.empty()) first = std::min(first, text.find(stop));
  }
  return first;
}

// Stops apply to the answer; the limit to reasoning and answer together.
Voice voice_of(AuthorText text, const Request& request) {
  Voice voice{.reasoning = std::move(text.reasoning), .content = std::move(text.content)};
  std::size_t stop = first_stop(voice.content, request.stop);
  if (stop != std::string_view::npos) voice.content.resize(stop);
  std::int64_t left = std::max<std::int64_t>(0, request.max_tokens);
  for (std::string* part : {&voice.reasoning, &voice.content}) {
    std::string_view whole = *part, front = first_author_tokens(whole, left);
    left -= count_author_tokens(front);
    if (front.size() == whole.size()) continue;
    voice.reason = FinishReason::length;
    part->resize(front.size());
  }
  return voice;
}

class AuthorGeneration final : public Generation {
 public:
  AuthorGeneration(Loop& loop, const AuthorOptions& options, const Request& request,
                   std::vector<Voice> voices, CallLedger* ledger, std::uint64_t call)
      : loop_(loop),
        options_(options),
        begun_(loop.now()),
        total_timeout_(request.total_timeout),
        voices_(std::move(voices)),
        usage_(prompt_usage(request)),
        ledger_(ledger),
        call_(call) {}

  ~AuthorGeneration() override {
    if (!ended_) close(CallOutcome::cancelled);
  }

  Task<Result<StreamEvent>> next() override {
    Voice* voice = next_voice();
    Piece piece = voice ? piece_of(*voice) : Piece{};
    if (options_.tokens_per_second > 0 && voice) {
      Time due = due_at(voice->tokens + piece.tokens);
      if (due - begun_ > total_timeout_) {
        co_await loop_.sleep_until(begun_ + total_timeout_);
        close(CallOutcome::failed, "the limit is " + format_duration(total_timeout_));
        co_return fail(ErrorCode::timeout,
                       "author: the limit is " + format_duration(total_timeout_));
      }
      if (due > loop_.now()) co_await loop_.sleep_until(due);
    }
    // From here on nothing waits: what is taken is delivered.
    if (!voice) co_return StreamEvent(finish());
    co_return StreamEvent(take(*voice, std::move(piece)));
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

  // All speak at the same rate, so the one that is furthest behind is next.
  Voice* next_voice() {
    Voice* next = nullptr;
    for (Voice& voice : voices_) {
      if (!voice.is_done() && (!next || voice.tokens < next->tokens)) next = &voice;
    }
    return next;
  }

  // Of one kind, of a few tokens; how many differs from delta to delta as it does with servers.
  Piece piece_of(const Voice& voice) const {
    bool thinks = voice.said < voice.reasoning.size();
    std::string_view rest =
        thinks ? std::string_view(voice.reasoning).substr(voice.said)
               : std::string_view(voice.content).substr(voice.said - voice.reasoning.size());
    std::int64_t wanted = options_.tokens_per_second > 0 ? 1 + voice.tokens * 5 % kMaxTokensPerDelta
                                                         : kTokensPerDeltaAtOnce;
    std::string_view front = first_author_tokens(rest, wanted);
    return {thinks ? DeltaKind::reasoning : DeltaKind::content, std::string(front),
            count_author_tokens(front)};
  }

  Delta take(Voice& voice, Piece piece) {
    voice.said += piece.text.size();
    voice.tokens += piece.tokens;
    usage_.completion_tokens += piece.tokens;
    if (piece.kind == DeltaKind::reasoning) usage_.reasoning_tokens += piece.tokens;
    if (ledger_) arrived_ += piece.text;
    return {.kind = piece.kind,
            .text = std::move(piece.text),
            .choice = static_cast<int>(&voice - voices_.data()),
            .token_ids = {}};
  }

  Ended finish() {
    Ended ended{.reasons = {}, .usage = usage_};
    for (const Voice& voice : voices_) ended.reasons.push_back(voice.reason);
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
  std::vector<Voice> voices_;
  Usage usage_;
  std::string arrived_;  // for the ledger, if the stream is cut
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
  std::vector<Voice> voices;
  for (int choice = 0; choice < request.count; ++choice) {
    voices.push_back(voice_of(CO_TRY(author_text(options_, request, choice)), request));
  }
  std::uint64_t call = 0;
  if (ledger_) {
    call = ledger_->sent(call_record(info_, request, loop_.now()));
  }
  co_return std::make_unique<AuthorGeneration>(loop_, options_, request, std::move(voices), ledger_,
                                               call);
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
    // What a conversation goes on from was a prompt of its own before.
    if (message.speaker == Speaker::assistant) usage.cached_tokens = usage.prompt_tokens;
    // As a language model would pay for it, which is not told everything twice.
    usage.prompt_tokens += count_author_tokens(prompt_for_language_models(message.text));
  }
  if (request.prefix) {
    // As a server would have it that went on from its own stream.
    usage.prompt_tokens += count_author_tokens(request.prefix->text);
    usage.cached_tokens = usage.prompt_tokens;
  }
  usage.prompt_tokens += count_author_tokens(request.answer_start);
  return usage;
}

}  // namespace specgen
