#pragma once
// Prompts are files: prompts/NAME.md, each found in the user's folders first, then among those that ship. What may
// stand in one is described in prompt_template.h, which names there are in docs/reference/search.md. What
// stands above a line
// `[user]` is the system message.
//
// Every prompt ends with the block of its context (generate/prompt_context.h), for readers that are no language models:
// the same kernels, advice and task as in its prose. A file that uses an unknown name is refused when it
// is loaded, with file and line.
//
// No prompt is longer than kMaxPrompt. What would be too long loses first the sources of the oldest kernels that it
// shows, then those kernels, then the middle of what is left; it says so.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "search/prompt_template.h"
#include "search/task_brief.h"
#include "search/workflow.h"

namespace specgen {

inline constexpr std::size_t kMaxPrompt = 96 * 1024;  // bytes of all messages

// Kernels that a prompt shows: {{#good}} {{source}} {{feedback}} {{/good}}.
struct KernelList {
  std::string name;  // one of docs/reference/search.md: "good", "failed", "attempts", "top", ...
  std::vector<KnownKernel> kernels;
  bool with_source = true;
};

struct PromptRequest {
  std::string role = "writer";  // as in generate/prompt_context.h
  std::int64_t iteration = 0;
  std::uint64_t seed = 0;
  const KnownKernel* parent = nullptr;  // what to improve, to repair or to inspect
  std::vector<KernelList> lists = {};
  std::string advice = {};      // what another role said
  std::string reflexions = {};  // what was learned from former attempts
};

class PromptStore {
 public:
  // `folders`: the user's first, the one that ships last. In that one all must be there, in the others whatever is.
  static Result<PromptStore> load(const std::vector<std::filesystem::path>& folders);

  // Names of prompts that workflows ask for; each is a file.
  static const std::vector<std::string>& names();

  // `name` is one of names().
  Prompt make(std::string_view name, const TaskBrief& brief, const PromptRequest& request) const;

 private:
  struct Pair {
    PromptTemplate system;
    PromptTemplate user;
  };
  std::map<std::string, Pair, std::less<>> templates_;
};

}  // namespace specgen
