#pragma once
// The fenced block ```specgen-context in every prompt: the facts of the prose as JSON, for readers that are not
// language models (the author, cassettes, tests). Schema: docs/reference/json.md. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

// One evaluated candidate in a prompt.
struct PromptFeedback {
  std::string source = {};    // the kernel; empty if the prompt omits it
  std::string verdict = {};   // a verdict of docs/reference/json.md, such as "ok"
  double speedup = 0;         // median; 0 unless ok
  std::string evidence = {};  // of the judge
};

struct PromptContext {
  // writer: a kernel; repair: a kernel that fixes the parent; diff: a change to the parent as SEARCH/REPLACE;
  // mend: such a change that fixes it; judge, bottleneck, reflexion: advice as JSON or prose, no kernel
  std::string role = "writer";
  std::string task = {};                      // its title, such as "softmax" or "matmul_square:f16"
  std::string backend = {};                   // "cpu" or "cuda"
  std::string baseline = {};                  // source of the baseline
  std::string parent_source = {};             // the kernel to improve or repair; empty: none yet
  std::vector<PromptFeedback> feedback = {};  // oldest first
  std::string advice = {};                    // of another role
  std::int64_t iteration = 0;
  std::uint64_t seed = 0;  // gives equal prompts different, repeatable answers
};

inline bool repairs_its_parent(std::string_view role) {
  return role == "repair" || role == "mend";
}
inline bool answers_with_changes(std::string_view role) {
  return role == "diff" || role == "mend";
}

std::string to_prompt_block(const PromptContext& context);  // with its fence
// The last block in the text; nullopt if there is none, an error if it is damaged.
Result<std::optional<PromptContext>> find_prompt_context(std::string_view prompt);
// The prompt with a block that has no sources: a language model reads them in the prose, and tokens cost.
std::string prompt_for_language_models(std::string_view prompt);

}  // namespace specgen
