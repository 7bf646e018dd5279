#pragma once
// What a request to a model says, whichever of the many ways it says it in: a conversation, a text that
// the client rendered itself, or token ids. And whether it is a fork of a recorded conversation: its
// prompt followed by a part of its reasoning (raw, as a prefilled answer, quoted in another turn, or as
// tokens). Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "generate/cassette/recorded_answer.h"
#include "generate/cassette/recording.h"
#include "generate/model.h"

namespace specgen {

struct Turn {
  std::string role;
  std::string reasoning;  // of a prefilled answer
  std::string text;

  friend bool operator==(const Turn&, const Turn&) = default;
};

struct PromptForm {
  std::string path;
  bool stream = false;
  int choices = 1;

  std::vector<Turn> turns;  // one of these three is there
  std::string raw;
  std::vector<std::int32_t> token_ids;

  AnswerTraits answer_traits() const;
  bool same_shape(const PromptForm& other) const {  // an answer to one is readable for the other
    return path == other.path && stream == other.stream && choices == other.choices;
  }
};

// Nothing if this is no request to write something.
std::optional<PromptForm> read_prompt(const RecordedRequest& request);
std::vector<Turn> turns_of(const std::vector<Message>& messages);

// Whether this is the prompt of that conversation, and nothing more.
bool same_prompt(const PromptForm& form, const std::vector<Turn>& turns);

// How much of `reasoning` the prefix is, white space at its end not counted. Nothing if it is
// no beginning of it.
std::optional<std::size_t> cut_of(std::string_view prefix, std::string_view reasoning);

// How much of a recorded answer's reasoning the prompt goes on from. Nothing if it is no fork of it.
std::optional<std::size_t> find_cut(const PromptForm& fork, const PromptForm& main,
                                    const RecordedAnswer& answer);

}  // namespace specgen
