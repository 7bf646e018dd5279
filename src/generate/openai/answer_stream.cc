#include "generate/openai/answer_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace specgen {

std::string EchoFilter::feed(std::string_view text) {
  if (expected_.empty()) return std::string(text);
  held_ += text;
  if (held_.size() < expected_.size() && expected_.starts_with(held_)) return {};
  if (held_.starts_with(expected_)) held_.erase(0, expected_.size());
  expected_.clear();
  return std::exchange(held_, {});
}

std::string EchoFilter::flush() {
  expected_.clear();
  return std::exchange(held_, {});
}

AnswerStream::Choice::Choice(const AnswerOptions& options)
    : splitter(options.opener),
      reasoning_echo(options.echoed_reasoning),
      content_echo(options.echoed_content) {}

AnswerStream::AnswerStream(AnswerOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.choices; ++i) choices_.emplace_back(options_);
}

AttemptFailure AnswerStream::broken(std::string context) const {
  return failure_of_stream(std::move(context), options_.key);
}

AttemptFailure AnswerStream::garbled(const Error& error) const {
  AttemptFailure failure = broken(error.context);
  failure.error.code = error.code;
  return failure;
}

AnswerStream::Outcome AnswerStream::feed(std::string_view bytes, std::vector<StreamEvent>& events) {
  parser_.feed(bytes);
  return read_events(events);
}

AnswerStream::Outcome AnswerStream::read_events(std::vector<StreamEvent>& events) {
  while (true) {
    auto event = parser_.next();
    if (!event) return std::unexpected(garbled(event.error()));
    if (!*event) return {};
    if (done_ || (*event)->data.empty()) continue;  // events after [DONE] are ignored
    auto facts = reader_.read((*event)->data);
    if (!facts) return std::unexpected(garbled(facts.error()));
    if (auto taken = take(std::move(*facts), events); !taken) return taken;
  }
}

AnswerStream::Outcome AnswerStream::finish(std::vector<StreamEvent>& events) {
  parser_.finish();
  if (auto read = read_events(events); !read) return read;
  end_of_texts(events);
  bool anything = delivered_ || progress_ > 0 || all_choices_ended();
  if (all_choices_ended() || (done_ && anything)) return {};
  if (anything) return std::unexpected(broken("the stream ended in the middle of the answer"));
  std::string stray = parser_.stray();
  return std::unexpected(broken(stray.empty()
                                    ? "the stream ended before it began"
                                    : fmt::format("the body is not a stream: {}", stray)));
}

AnswerStream::Outcome AnswerStream::take(ChunkFacts facts, std::vector<StreamEvent>& events) {
  if (facts.fault) return std::unexpected(failure_of_event(*facts.fault, options_.key));
  if (!facts.prompt_token_ids.empty()) {
    reported_prompt_tokens_ = facts.prompt_token_ids.size();
    prompt_ids_ = std::move(facts.prompt_token_ids);
  }
  if (!facts.prompt_text.empty()) prompt_text_ = std::move(facts.prompt_text);
  for (ChoiceFacts& choice : facts.choices) {
    if (auto taken = take(std::move(choice), events); !taken) return taken;
  }
  if (facts.usage) take(*facts.usage);
  if (facts.done) {
    end_of_texts(events);
    done_ = true;
  }
  return {};
}

AnswerStream::Outcome AnswerStream::take(ChoiceFacts facts, std::vector<StreamEvent>& events) {
  if (facts.choice < 0 || facts.choice >= options_.choices) {
    return std::unexpected(
        broken(fmt::format("it sent choice {} of {}", facts.choice, options_.choices)));
  }
  Choice& choice = choices_[static_cast<std::size_t>(facts.choice)];
  if (!facts.reasoning.empty() || !facts.content.empty() || !facts.token_ids.empty()) ++progress_;
  reported_ids_ += static_cast<std::int64_t>(facts.token_ids.size());
  choice.pending_ids.insert(choice.pending_ids.end(), facts.token_ids.begin(),
                            facts.token_ids.end());
  if (!facts.reasoning.empty()) {
    choice.has_reasoning_field = true;
    emit(facts.choice, DeltaKind::reasoning, choice.reasoning_echo.feed(facts.reasoning), events);
  }
  if (!facts.content.empty()) {
    std::string text = choice.content_echo.feed(facts.content);
    // A server that separates reasoning from the answer leaves no tags in the answer.
    if (choice.has_reasoning_field) {
      emit(facts.choice, DeltaKind::content, std::move(text), events);
    } else {
      ThinkSplitter::Parts parts = choice.splitter.feed(text);
      reasoning_in_content_ = reasoning_in_content_ || !parts.reasoning.empty();
      emit(facts.choice, DeltaKind::reasoning, std::move(parts.reasoning), events);
      emit(facts.choice, DeltaKind::content, std::move(parts.content), events);
    }
  }
  if (!facts.finish) return {};
  if (facts.finish_word == "abort" || facts.finish_word == "error") {
    return std::unexpected(broken(fmt::format("the server ended it with '{}'", facts.finish_word)));
  }
  choice.finish = facts.finish;
  ++progress_;
  return {};
}

void AnswerStream::take(const UsageFacts& reported) {
  // Counts only grow, also if a chunk arrives late or twice.
  auto grow = [](std::optional<std::int64_t>& mine, const std::optional<std::int64_t>& theirs) {
    if (theirs && *theirs >= mine.value_or(0)) mine = theirs;
  };
  std::int64_t before = usage_.completion_tokens.value_or(0);
  grow(usage_.prompt_tokens, reported.prompt_tokens);
  grow(usage_.completion_tokens, reported.completion_tokens);
  grow(usage_.reasoning_tokens, reported.reasoning_tokens);
  grow(usage_.cached_tokens, reported.cached_tokens);
  if (usage_.completion_tokens.value_or(0) > before) ++progress_;
}

void AnswerStream::end_of_texts(std::vector<StreamEvent>& events) {
  if (std::exchange(texts_ended_, true)) return;
  for (ChoiceFacts& rest : reader_.finish()) {
    rest.finish.reset();
    (void)take(std::move(rest), events);  // half a character; its choice was checked before
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    emit(static_cast<int>(i), DeltaKind::reasoning, choice.reasoning_echo.flush(), events);
    ThinkSplitter::Parts parts = choice.splitter.feed(choice.content_echo.flush());
    ThinkSplitter::Parts last = choice.splitter.flush();
    emit(static_cast<int>(i), DeltaKind::reasoning, parts.reasoning + last.reasoning, events);
    emit(static_cast<int>(i), DeltaKind::content, parts.content + last.content, events);
  }
}

void AnswerStream::emit(int choice, DeltaKind kind, std::string text,
                        std::vector<StreamEvent>& events) {
  if (text.empty()) return;
  if (!prompt_ids_.empty()) events.emplace_back(PromptTokens{std::exchange(prompt_ids_, {})});
  (kind == DeltaKind::reasoning ? reasoning_ : content_) += text;
  Delta delta;
  delta.kind = kind;
  delta.text = std::move(text);
  delta.choice = choice + options_.first_choice;
  delta.token_ids = std::exchange(choices_[static_cast<std::size_t>(choice)].pending_ids, {});
  events.emplace_back(std::move(delta));
  delivered_ = true;
}

bool AnswerStream::all_choices_ended() const {
  return std::ranges::all_of(choices_, [](const Choice& choice) { return !!choice.finish; });
}

std::vector<FinishReason> AnswerStream::reasons() const {
  std::vector<FinishReason> all;
  for (const Choice& choice : choices_) all.push_back(choice.finish.value_or(FinishReason::other));
  return all;
}

Usage AnswerStream::usage() const {
  std::int64_t counted =
      reported_ids_ > 0 ? reported_ids_ : estimate_tokens(reasoning_) + estimate_tokens(content_);
  bool reported = usage_.prompt_tokens && usage_.completion_tokens;
  Usage usage;
  usage.prompt_tokens = usage_.prompt_tokens.value_or(
      reported_prompt_tokens_ > 0 ? static_cast<std::int64_t>(reported_prompt_tokens_)
                                  : options_.estimated_prompt_tokens);
  usage.completion_tokens = usage_.completion_tokens.value_or(counted);
  usage.estimated = !reported;
  if (reported && options_.usage_counts_one_choice && options_.choices > 1) {
    usage.completion_tokens = std::max(usage.completion_tokens, counted);
    usage.estimated = true;
  }
  usage.cached_known = usage_.cached_tokens.has_value();
  usage.cached_tokens = usage_.cached_tokens.value_or(0);
  // Reasoning tokens that are not reported are estimated from the share of the text.
  double bytes = static_cast<double>(reasoning_.size() + content_.size());
  double share = bytes > 0 ? static_cast<double>(reasoning_.size()) / bytes : 0;
  auto by_share =
      static_cast<std::int64_t>(share * static_cast<double>(usage.completion_tokens) + 0.5);
  usage.reasoning_tokens = usage_.reasoning_tokens.value_or(by_share);
  return usage;
}

std::string AnswerStream::evidence() const {
  if (reasoning_.empty()) return content_;
  return fmt::format("<think>\n{}\n</think>\n{}", reasoning_, content_);
}

}  // namespace specgen
