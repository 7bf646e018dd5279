#pragma once
// The prompt of a recorded request in one form, however it was sent: a conversation, a text that
// the client rendered, or token ids. And whether it is a fork of a recorded conversation: its
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

  std::vector<Turn> turns;  // exactly one of these three is set
  std::string raw;
  std::vector<std::int32_t> token_ids;

  AnswerTraits answer_traits() const;
  bool same_shape(const PromptForm& other) const {  // the answer to one fits the other
    return path == other.path && stream == other.stream && choices == other.choices;
  }
};

// nullopt if this is not a request for a completion.
std::optional<PromptForm> read_prompt(const RecordedRequest& request);
std::vector<Turn> turns_of(const std::vector<Message>& messages);

// Whether this is exactly the prompt of that conversation.
bool same_prompt(const PromptForm& form, const std::vector<Turn>& turns);

// The length of `prefix` within `reasoning`, without white space at its end; nullopt if it is
// not a prefix of it.
std::optional<std::size_t> cut_of(std::string_view prefix, std::string_view reasoning);

// The length of the recorded reasoning that the prompt continues from; nullopt if it is not a fork of it.
std::optional<std::size_t> find_cut(const PromptForm& fork, const PromptForm& main,
                                    const RecordedAnswer& answer);

}  // namespace specgen
