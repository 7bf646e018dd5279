#pragma once
// Prompts are files: prompts/NAME.md, found in the user's folder first, then among those that ship. A file is text with
// {{names}} that are filled in, and sections that are left out when there is nothing to say:
//
//   {{#advice}}
//   An expert looked at it and says: {{advice}}
//   {{/advice}}
//
// Every prompt ends with the block of its context (generate/prompt_context.h), for readers that are no language
// models. A file that asks for a name nobody knows is refused when it is loaded, with file and line.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/task/kernel_task.h"
#include "generate/prompt_context.h"
#include "search/workflow.h"

namespace specgen {

// What a prompt tells of a task, the same for every workflow.
struct TaskBrief {
  std::string title;    // "softmax"
  std::string backend;  // "cpu" or "cuda"
  std::string
      description;  // what is computed: tensors, shapes, which cases are timed, how exact it must be
  std::string
      interface;         // how the kernel is called, with one small example for another computation
  std::string hardware;  // what it runs on
  std::string baseline;  // its source, or the PyTorch file
};
TaskBrief brief_of(const KernelTask& task, Backend backend, std::string_view device_name);
// Of a PyTorch file: the module is the description.
TaskBrief brief_of_python(std::string_view title, std::string_view source, std::string_view backend,
                          std::string_view device_name, bool model_new);

class PromptBook {
 public:
  // All that ship must be there; of the user's folder whatever is there.
  static Result<PromptBook> load(const std::vector<std::filesystem::path>& folders);

  // `name`: the file, such as "refine"; `values`: what {{names}} stand for, beside those of the brief and the context.
  Prompt make(std::string_view name, const TaskBrief& brief, PromptContext context,
              const std::map<std::string, std::string>& values = {}) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace specgen
