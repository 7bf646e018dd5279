#pragma once
// The tasks of a search as the user named them: read, given a backend that the devices have, and described for prompts.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_loop.h"
#include "cli/settings.h"
#include "schedule/evaluation_pool.h"
#include "search/prompt_store.h"
#include "search/run_state.h"

namespace specgen {

struct PreparedTasks {
  std::vector<RunTask> tasks;
  std::vector<TaskBrief> briefs;
};

// Errors are the user's: an unknown task, no baseline for the backends of the devices, two tasks of one name.
Result<PreparedTasks> prepare_tasks(const std::vector<std::string>& names, bool model_new,
                                    std::span<const PoolDevice> devices);

// The description of a KernelBench-style file with these constants replaced (evaluate/pytorch/description.h), as JSON.
// Runs the file in the sandbox, so a missing PyTorch, an unknown constant or a broken file is the error.
Task<Result<std::string>> describe_python_task(CommandLoop& command, std::string file,
                                               std::map<std::string, std::int64_t> shapes,
                                               const Settings& settings);

}  // namespace specgen
