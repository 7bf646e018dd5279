#pragma once
// A recorded exchange with a model as the events that a Generation delivers, each with the
// time at which its last byte arrived. Streams and plain JSON bodies, chat and text
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

// Maps positions in the reasoning's text to positions in its tokens, for forks by token ids.
struct TokenEnd {
  std::size_t text_end = 0;    // in RecordedAnswer::reasoning
  std::size_t tokens_end = 0;  // in RecordedAnswer::reasoning_ids
};

struct RecordedAnswer {
  std::vector<TimedEvent> events;  // the last is Ended if the answer was complete
  std::optional<Error> broken;     // why it was not complete
  Duration broken_after{};

  // Of the first choice.
  std::string reasoning;
  std::string prompt_text;  // as rendered by the server, if it was reported
  std::vector<std::int32_t> prompt_ids;
  std::vector<std::int32_t> reasoning_ids;  // empty unless all were reported
  std::vector<TokenEnd> token_ends;
};

// Properties of the request that are needed to parse the answer.
struct AnswerTraits {
  int choices = 1;
  bool opener_in_prompt = false;  // the prompt ended with <think>: the answer begins with reasoning
  std::string begun_reasoning;    // of a prefilled answer; some servers repeat it
  std::string begun_content;
};

RecordedAnswer read_answer(const RecordedExchange& exchange, const AnswerTraits& traits);

}  // namespace specgen
