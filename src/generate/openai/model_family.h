#pragma once
// The marks around reasoning, by model family: how reasoning opens, and what to append to a part of it so that
// the model continues with its answer. Needed by forks that write the prompt themselves (token_ids, raw_text,
// and prefill where the server only appends text). The family is guessed from the model's name.

#include <span>
#include <string_view>

namespace specgen {

struct ModelFamily {
  std::string_view name;
  std::string_view opener;  // begins the reasoning, in the prompt or generated
  std::string_view close;   // ends partial reasoning, up to the first character of the answer
  bool opener_in_prompt;    // written by the template; else by the model
};

// Never fails: an unknown name gets the most common marks.
const ModelFamily& family_of(std::string_view model);
std::span<const ModelFamily> model_families();

}  // namespace specgen
