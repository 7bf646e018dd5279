#pragma once
// What a recorded exchange with a model said, as the events that a Generation delivers, each with the
// time at which the bytes had come that made it whole. Streams and plain JSON bodies, chat and text
// completions. A pure function of the recording.

#include <optional>
#include <string>
#include <vector>

#include "generate/cassette/recording.h"
#include "generate/model.h"

namespace specgen {

struct TimedEvent {
  Duration after{};  // since the request
  StreamEvent event;
};

// Where reasoning that has been recorded stands in its tokens, for forks by token ids.
struct TokenEnd {
  std::size_t text_end = 0;    // in RecordedAnswer::reasoning
  std::size_t tokens_end = 0;  // in RecordedAnswer::reasoning_ids
};

struct RecordedAnswer {
  std::vector<TimedEvent> events;  // the last is Ended if the answer was whole
  std::optional<Error> broken;     // else why not
  Duration broken_after{};

  // Of the first choice.
  std::string reasoning;
  std::string prompt_text;  // as the server rendered it, if it told
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> reasoning_ids;  // empty unless all of them were told
  std::vector<TokenEnd> token_ends;
};

// What must be known of the request to understand the answer.
struct AnswerTraits {
  int choices = 1;
  bool opener_in_prompt = false;  // the prompt ended with <think>: the text begins with reasoning
  std::string begun_reasoning;    // of a prefilled answer, which some servers repeat
  std::string begun_content;
};

RecordedAnswer read_answer(const RecordedExchange& exchange, const AnswerTraits& traits);

}  // namespace specgen
