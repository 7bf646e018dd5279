#include "generate/cassette/recorded_answer.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "base/json.h"
#include "generate/openai/answer_stream.h"
#include "generate/openai/attempt_failure.h"

namespace specgen {
namespace {

// A plain body as a stream of one event: `message` becomes `delta`.
std::string as_stream(const std::string& text) {
  auto body = parse_json(text);
  if (!body || !body->is_object()) return text;
  if (auto* choices = body->get_object().if_contains("choices"); choices && choices->is_array()) {
    for (Json& choice : choices->get_array()) {
      if (!member_at(choice, "message")) continue;
      boost::json::object& members = choice.get_object();
      Json message = members["message"];
      members["delta"] = std::move(message);
      members.erase("message");
    }
  }
  return "data: " + compact_json(*body) + "\n\n";
}

class AnswerReader {
 public:
  AnswerReader(const RecordedExchange& exchange, const AnswerTraits& traits)
      : exchange_(exchange), stream_(options_of(exchange, traits)) {}

  RecordedAnswer read() {
    bool answered = exchange_.head && exchange_.head->status / 100 == 2;
    if (!answered) {
      break_off(exchange_.end_after, why_not_answered());
    } else if (header_value(exchange_.head->headers, "content-type")
                   .starts_with("text/event-stream")) {
      read_stream();
    } else if (exchange_.end == ExchangeEnd::complete) {
      if (feed(as_stream(exchange_.body()), exchange_.end_after)) finish();
    } else {
      break_off(exchange_.end_after, why_incomplete());
    }
    answer_.prompt_text = stream_.prompt_text();
    if (!ids_complete_) answer_.reasoning_ids.clear();
    return std::move(answer_);
  }

 private:
  static AnswerOptions options_of(const RecordedExchange& exchange, const AnswerTraits& traits) {
    AnswerOptions options;
    options.choices = traits.choices;
    if (traits.opener_in_prompt) options.opener = ThinkSplitter::Opener::in_prompt;
    options.echoed_reasoning = traits.begun_reasoning;
    options.echoed_content = traits.begun_content;
    options.estimated_prompt_tokens = estimate_tokens(exchange.request.body);
    return options;
  }

  void read_stream() {
    for (const RecordedPiece& piece : exchange_.pieces) {
      if (!feed(piece.bytes, piece.after)) return;
      if (stream_.done()) break;
    }
    if (exchange_.end == ExchangeEnd::complete || stream_.done() || stream_.all_choices_ended()) {
      finish();
    } else {
      break_off(exchange_.end_after, why_incomplete());
    }
  }

  bool feed(std::string_view bytes, Duration after) {
    std::vector<StreamEvent> events;
    auto fed = stream_.feed(bytes, events);
    take(events, after);
    last_after_ = after;
    if (!fed) break_off(after, std::move(fed).error().error);
    return fed.has_value();
  }

  void finish() {
    std::vector<StreamEvent> events;
    auto complete = stream_.finish(events);
    Duration after = stream_.done() ? last_after_ : exchange_.end_after;
    take(events, after);
    if (!complete) return break_off(after, std::move(complete).error().error);
    answer_.events.push_back(
        {after, Ended{.reasons = stream_.reasons(), .usage = stream_.usage(), .note = {}}});
  }

  void take(std::vector<StreamEvent>& events, Duration after) {
    for (StreamEvent& event : events) {
      if (const auto* delta = std::get_if<Delta>(&event)) note(*delta);
      if (const auto* prompt = std::get_if<PromptTokens>(&event)) {
        answer_.prompt_ids = prompt->token_ids;
      }
      answer_.events.push_back({after, std::move(event)});
    }
  }

  void note(const Delta& delta) {
    if (delta.choice != 0 || delta.kind != DeltaKind::reasoning) return;
    answer_.reasoning += delta.text;
    ids_complete_ = ids_complete_ && !delta.token_ids.empty();
    answer_.reasoning_ids.insert(answer_.reasoning_ids.end(), delta.token_ids.begin(),
                                 delta.token_ids.end());
    answer_.token_ends.push_back({answer_.reasoning.size(), answer_.reasoning_ids.size()});
  }

  void break_off(Duration after, Error why) {
    answer_.broken = std::move(why);
    answer_.broken_after = after;
  }

  Error why_not_answered() const {
    if (!exchange_.head) return why_incomplete();
    return failure_of_answer(*exchange_.head, exchange_.body(), {}, {}).error;
  }

  Error why_incomplete() const {
    if (exchange_.end == ExchangeEnd::failed) {
      return {exchange_.head ? ErrorCode::stream_broken : ErrorCode::endpoint_unreachable,
              exchange_.error,
              {}};
    }
    bool client_left = exchange_.end == ExchangeEnd::cancelled;
    return {ErrorCode::not_recorded,
            fmt::format("exchange {}: {} after {}", exchange_.number,
                        client_left ? "its client disconnected" : "the recording ended",
                        format_duration(exchange_.end_after)),
            {}};
  }

  const RecordedExchange& exchange_;
  AnswerStream stream_;
  RecordedAnswer answer_;
  Duration last_after_{};
  bool ids_complete_ = true;
};

}  // namespace

RecordedAnswer read_answer(const RecordedExchange& exchange, const AnswerTraits& traits) {
  return AnswerReader(exchange, traits).read();
}

}  // namespace specgen
