#pragma once
// The marks around reasoning, by the family a model's name tells: how reasoning opens and what to write
// after a part of it so that the model goes on with its answer. Needed by forks that write the prompt
// themselves (token_ids, raw_text, and prefill where the server only appends text).

#include <span>
#include <string_view>

namespace specgen {

struct ModelFamily {
  std::string_view name;
  std::string_view opener;  // what begins the reasoning, in the prompt or generated
  std::string_view close;  // after a partial thought: ends it, up to the first letter of the answer
  bool opener_in_prompt;   // the template writes it; else the model does
};

// Never fails: a name that nobody knows is taken for the commonest kind.
const ModelFamily& family_of(std::string_view model);
std::span<const ModelFamily> model_families();

}  // namespace specgen
