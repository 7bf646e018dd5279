#include "generate/cassette/recorded_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "generate/openai/chunk_reader.h"
#include "generate/openai/sse_parser.h"
#include "generate/openai/think_splitter.h"

namespace specgen {
namespace {

using Opener = ThinkSplitter::Opener;

class AnswerReader {
 public:
  AnswerReader(const RecordedExchange& exchange, bool opener_in_prompt)
      : exchange_(exchange), opener_(opener_in_prompt ? Opener::in_prompt : Opener::in_text) {}

  RecordedAnswer read() {
    if (!exchange_.head) {
      break_off(exchange_.end_after, not_whole());
    } else if (exchange_.head->status / 100 != 2) {
      break_off(exchange_.end_after, refused());
    } else if (is_stream()) {
      read_stream();
    } else {
      read_body();
    }
    if (!ids_complete_) answer_.reasoning_ids.clear();
    return std::move(answer_);
  }

 private:
  bool is_stream() const {
    for (const auto& [name, value] : exchange_.head->headers) {
      if (name == "content-type") return value.starts_with("text/event-stream");
    }
    return false;
  }

  void read_stream() {
    SseParser parser;
    for (const RecordedPiece& piece : exchange_.pieces) {
      parser.feed(piece.bytes);
      if (!take_events(parser, piece.after)) return;
    }
    if (exchange_.end == ExchangeEnd::complete) {
      parser.finish();
      if (!take_events(parser, exchange_.end_after)) return;
    }
    take_end(exchange_.end_after, all_finished());
  }

  // A body that is no stream says the same as one chunk, with another word.
  void read_body() {
    auto body = parse_json(exchange_.body());
    if (!body || !body->is_object() || exchange_.end != ExchangeEnd::complete) {
      return break_off(exchange_.end_after, not_whole());
    }
    if (auto* choices = body->get_object().if_contains("choices"); choices && choices->is_array()) {
      for (Json& choice : choices->get_array()) {
        if (!member_at(choice, "message")) continue;
        boost::json::object& members = choice.get_object();
        Json message = members["message"];
        members["delta"] = std::move(message);
        members.erase("message");
      }
    }
    if (take_chunk(compact_json(*body), exchange_.end_after)) take_end(exchange_.end_after, true);
  }

  // False when nothing more is to be read.
  bool take_events(SseParser& parser, Duration after) {
    while (true) {
      auto event = parser.next();
      if (!event) return break_off(after, std::move(event).error()), false;
      if (!*event) return true;
      if (!take_chunk((*event)->data, after)) return false;
    }
  }

  bool take_chunk(std::string_view data, Duration after) {
    auto facts = chunks_.read(data);
    if (!facts) return break_off(after, std::move(facts).error()), false;
    if (facts->fault) return break_off(after, fault(*facts->fault)), false;
    if (!facts->prompt_text.empty()) answer_.prompt_text = std::move(facts->prompt_text);
    if (!facts->prompt_token_ids.empty() && answer_.prompt_ids.empty()) {
      answer_.prompt_ids = facts->prompt_token_ids;
      answer_.events.push_back({after, PromptTokens{std::move(facts->prompt_token_ids)}});
    }
    for (ChoiceFacts& choice : facts->choices) take_choice(choice, after);
    if (facts->usage) add_usage(*facts->usage);
    if (facts->done) take_end(after, true);
    return !facts->done;
  }

  void take_choice(ChoiceFacts& facts, Duration after) {
    Choice& choice = choices_.try_emplace(facts.choice, opener_).first->second;
    bool told = !facts.reasoning.empty();
    add(DeltaKind::reasoning, std::move(facts.reasoning), facts, after);
    if (!facts.content.empty()) {
      std::size_t size = facts.content.size();
      ThinkSplitter::Parts parts = choice.splitter.feed(facts.content);
      // Of a text that was split or held back nobody knows which tokens are whose.
      if (told || parts.reasoning.size() + parts.content.size() != size ||
          (!parts.reasoning.empty() && !parts.content.empty())) {
        facts.token_ids.clear();
      }
      add(DeltaKind::reasoning, std::move(parts.reasoning), facts, after);
      add(DeltaKind::content, std::move(parts.content), facts, after);
    }
    if (facts.finish) choice.finish = *facts.finish;
  }

  void add(DeltaKind kind, std::string text, ChoiceFacts& facts, Duration after) {
    if (text.empty()) return;
    characters_ += text;
    if (facts.choice == 0 && kind == DeltaKind::content) answer_.content += text;
    if (facts.choice == 0 && kind == DeltaKind::reasoning) {
      answer_.reasoning += text;
      ids_complete_ = ids_complete_ && !facts.token_ids.empty();
      answer_.reasoning_ids.insert(answer_.reasoning_ids.end(), facts.token_ids.begin(),
                                   facts.token_ids.end());
      answer_.token_ends.push_back({answer_.reasoning.size(), answer_.reasoning_ids.size()});
    }
    if (kind == DeltaKind::reasoning) thought_ += text;
    answer_.events.push_back(
        {after, Delta{kind, std::move(text), facts.choice, std::exchange(facts.token_ids, {})}});
  }

  void add_usage(const UsageFacts& told) {
    usage_told_ = usage_told_ || told.completion_tokens.has_value();
    usage_.prompt_tokens = told.prompt_tokens.value_or(usage_.prompt_tokens);
    usage_.completion_tokens = told.completion_tokens.value_or(usage_.completion_tokens);
    usage_.reasoning_tokens = told.reasoning_tokens.value_or(usage_.reasoning_tokens);
    usage_.cached_tokens = told.cached_tokens.value_or(usage_.cached_tokens);
    usage_.cached_known = usage_.cached_known || told.cached_tokens.has_value();
  }

  void take_end(Duration after, bool whole) {
    for (ChoiceFacts& rest : chunks_.finish()) take_choice(rest, after);
    for (auto& [number, choice] : choices_) {
      ThinkSplitter::Parts parts = choice.splitter.flush();
      ChoiceFacts facts;
      facts.choice = number;
      add(DeltaKind::reasoning, std::move(parts.reasoning), facts, after);
      add(DeltaKind::content, std::move(parts.content), facts, after);
    }
    if (!whole) return break_off(after, not_whole());
    if (!usage_told_) {
      usage_.prompt_tokens = estimate_tokens(exchange_.request.body);
      usage_.completion_tokens = estimate_tokens(characters_);
      usage_.reasoning_tokens = estimate_tokens(thought_);
      usage_.estimated = true;
    }
    Ended ended{.reasons = {}, .usage = usage_, .note = {}};
    for (const auto& [number, choice] : choices_) {
      ended.reasons.push_back(choice.finish.value_or(FinishReason::other));
    }
    answer_.events.push_back({after, std::move(ended)});
  }

  // Not every server says [DONE].
  bool all_finished() const {
    return !choices_.empty() && std::ranges::all_of(choices_, [](const auto& numbered) {
      return numbered.second.finish.has_value();
    });
  }

  void break_off(Duration after, Error why) {
    answer_.broken = std::move(why);
    answer_.broken_after = after;
  }

  Error not_whole() const {
    switch (exchange_.end) {
      case ExchangeEnd::cancelled:
        return {ErrorCode::not_recorded,
                fmt::format("exchange {}: its client went away here, after {}", exchange_.number,
                            format_duration(exchange_.end_after)),
                {}};
      case ExchangeEnd::interrupted:
        return {ErrorCode::not_recorded,
                fmt::format("exchange {}: the recording ended here", exchange_.number),
                {}};
      case ExchangeEnd::failed:
        return {ErrorCode::stream_failed, exchange_.error, {}};
      case ExchangeEnd::complete:
        break;
    }
    return {ErrorCode::stream_failed, "the stream ended before the answer did", {}};
  }

  Error refused() const {
    std::string body = exchange_.body();
    auto told = fault_in_body(body);
    return {ErrorCode::model_refused,
            fmt::format("HTTP {}: {}", exchange_.head->status,
                        told ? told->message : std::string(first_line(body))),
            {}};
  }

  static Error fault(const ServerFault& told) {
    return {ErrorCode::model_refused, "the server reports: " + told.message, {}};
  }

  struct Choice {
    explicit Choice(Opener opener) : splitter(opener) {}
    ThinkSplitter splitter;
    std::optional<FinishReason> finish;
  };

  const RecordedExchange& exchange_;
  Opener opener_;
  ChunkReader chunks_;
  RecordedAnswer answer_;
  std::map<int, Choice> choices_;
  Usage usage_;
  bool usage_told_ = false;
  bool ids_complete_ = true;
  std::string characters_;  // all that came, for an estimate
  std::string thought_;
};

}  // namespace

RecordedAnswer read_answer(const RecordedExchange& exchange, bool opener_in_prompt) {
  return AnswerReader(exchange, opener_in_prompt).read();
}

}  // namespace specgen
