#pragma once
// Turns the body of one response into stream events and token counts. Combines SseParser, ChunkReader and
// ThinkSplitter, removes the echo of a prefill, and knows when the answer is complete. Pure, no I/O; owned by
// one attempt.

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generate/model.h"
#include "generate/openai/attempt_failure.h"
#include "generate/openai/chunk_reader.h"
#include "generate/openai/sse_parser.h"
#include "generate/openai/think_splitter.h"

namespace specgen {

// Removes text that a server repeats before its answer.
class EchoFilter {
 public:
  explicit EchoFilter(std::string expected) : expected_(std::move(expected)) {}
  std::string feed(std::string_view text);
  std::string flush();  // held-back text that was not an echo

 private:
  std::string expected_;  // empty: no echo is expected any more
  std::string held_;
};

struct AnswerOptions {
  int choices = 1;
  int first_choice = 0;  // added to the server's indices
  ThinkSplitter::Opener opener = ThinkSplitter::Opener::in_text;
  std::string echoed_reasoning = {};
  std::string echoed_content = {};
  bool usage_counts_one_choice = false;
  std::int64_t estimated_prompt_tokens = 0;  // if the server does not report them
  std::string_view key = {};                 // removed from errors; outlives the stream
};

class AnswerStream {
 public:
  using Outcome = std::expected<void, AttemptFailure>;

  explicit AnswerStream(AnswerOptions options);

  Outcome feed(std::string_view bytes, std::vector<StreamEvent>& events);
  // The body has ended. A failure unless the answer is complete.
  Outcome finish(std::vector<StreamEvent>& events);

  bool done() const { return done_; }  // [DONE] was received
  bool all_choices_ended() const;      // only usage may still follow
  std::uint64_t progress() const {
    return progress_;
  }  // grows with every token, not with keepalives
  bool has_delivered() const { return delivered_; }  // some text was emitted

  const std::string& prompt_text() const { return prompt_text_; }
  bool reasoning_in_content() const { return reasoning_in_content_; }  // between tags
  const std::string& reasoning() const {
    return reasoning_;
  }  // of all choices, in order of arrival
  const std::string& content() const { return content_; }

  std::vector<FinishReason> reasons() const;
  Usage usage() const;           // so far
  std::string evidence() const;  // the text so far, for the ledger

 private:
  struct Choice {
    explicit Choice(const AnswerOptions& options);
    ThinkSplitter splitter;
    EchoFilter reasoning_echo;
    EchoFilter content_echo;
    bool has_reasoning_field = false;
    std::vector<std::int32_t> pending_ids;  // of text not emitted yet
    std::optional<FinishReason> finish;
  };

  Outcome read_events(std::vector<StreamEvent>& events);
  Outcome take(ChunkFacts facts, std::vector<StreamEvent>& events);
  Outcome take(ChoiceFacts facts, std::vector<StreamEvent>& events);
  void take(const UsageFacts& usage);
  void end_of_texts(std::vector<StreamEvent>& events);
  void emit(int choice, DeltaKind kind, std::string text, std::vector<StreamEvent>& events);
  AttemptFailure broken(std::string context) const;
  AttemptFailure garbled(const Error& error) const;

  AnswerOptions options_;
  SseParser parser_;
  ChunkReader reader_;
  std::vector<Choice> choices_;
  std::vector<std::int32_t> prompt_ids_;
  std::size_t reported_prompt_tokens_ = 0;
  std::string prompt_text_;
  std::string reasoning_;
  std::string content_;
  UsageFacts usage_;
  std::int64_t reported_ids_ = 0;
  std::uint64_t progress_ = 0;
  bool done_ = false;
  bool texts_ended_ = false;
  bool delivered_ = false;
  bool reasoning_in_content_ = false;
};

}  // namespace specgen
