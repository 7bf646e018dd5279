#pragma once
// Tasks, scenarios, prompts and triggers that ship with the program, by name. They are in share/specgen of an unpacked
// archive, or in the source tree of a build. A path of the user's own always comes first.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "search/prompt_store.h"

namespace specgen {

// "tasks", "scenarios", "prompts" or "triggers"; empty if it is not installed.
std::filesystem::path shipped_folder(std::string_view kind);

// The task that `name` means: a folder, a KernelBench-style .py file, or a task that ships (`softmax`, also
// `tasks/softmax`); `:DTYPE` after any of them is kept. Else unknown_name with the nearest of those that ship.
Result<std::string> find_task(std::string_view name);

// The file of a scenario: a path, or the name of one that ships.
Result<std::filesystem::path> find_scenario(const std::string& name);

// The prompts that ship, each replaced by a file of the same name in ./prompts or ~/.config/specgen/prompts
// (docs/reference/search.md).
Result<PromptStore> load_prompts();

// The folders to look for trigger files in, the user's own ./triggers first.
std::vector<std::filesystem::path> trigger_folders();

}  // namespace specgen
