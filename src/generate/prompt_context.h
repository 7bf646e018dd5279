#pragma once
// The fenced block ```specgen-context that every prompt of ours carries besides its prose: the same
// facts as JSON, for readers that are no language models (the author, cassettes, tests). Schema:
// docs/json.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

// One judged candidate, as prompts tell of it.
struct PromptFeedback {
  std::string source = {};    // the candidate; empty if the prompt leaves it out
  std::string verdict = {};   // as in docs/json.md, "ok" among them
  double speedup = 0;         // median; 0 unless ok
  std::string evidence = {};  // what the judge says
};

struct PromptContext {
  // writer: a kernel; repair: a kernel that mends the parent; diff: a change to the parent as
  // SEARCH/REPLACE; mend: such a change that mends it; judge, bottleneck, reflexion: advice as JSON or prose, no kernel
  std::string role = "writer";
  std::string task = {};                      // its title, such as "softmax" or "matmul_square:f16"
  std::string backend = {};                   // "cpu" or "cuda"
  std::string baseline = {};                  // source of the baseline
  std::string parent_source = {};             // what to improve or mend; empty: nothing yet
  std::vector<PromptFeedback> feedback = {};  // oldest first
  std::string advice = {};                    // what another role said
  std::int64_t iteration = 0;
  std::uint64_t seed = 0;  // so that equal prompts may lead to different answers, repeatably
};

// What the answer to a prompt of this role is to be.
inline bool mends_its_parent(std::string_view role) {
  return role == "repair" || role == "mend";
}
inline bool answers_with_changes(std::string_view role) {
  return role == "diff" || role == "mend";
}

std::string to_prompt_block(const PromptContext& context);  // with its fence
// The last block in the text. Nothing if there is none; an error if it is damaged.
Result<std::optional<PromptContext>> find_prompt_context(std::string_view prompt);
// Whoever reads the prose has the sources there: the block without what they would pay for twice.
std::string prompt_for_language_models(std::string_view prompt);

}  // namespace specgen
