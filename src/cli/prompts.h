#pragma once
// The prompts of this installation: those that ship, with single files replaced by the user's own in ./prompts or
// ~/.config/specgen/prompts (docs/search.md).

#include "base/error.h"
#include "search/prompt_book.h"

namespace specgen {

Result<PromptBook> load_prompts();

}  // namespace specgen
