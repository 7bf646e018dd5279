#pragma once
// The tasks of a search as the user named them: read, given a backend that the devices have, and described for prompts.

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedule/evaluation_pool.h"
#include "search/prompt_book.h"
#include "search/run_state.h"

namespace specgen {

struct PreparedTasks {
  std::vector<RunTask> tasks;
  std::vector<TaskBrief> briefs;
};

// Errors are the user's: an unknown task, no baseline for the backends of the devices, two tasks of one name.
Result<PreparedTasks> prepare_tasks(const std::vector<std::string>& names, bool model_new,
                                    std::span<const PoolDevice> devices);

}  // namespace specgen
