#pragma once
// Mistakes in a search that are found before a device is opened or a model is called.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/search_options.h"
#include "cli/settings.h"
#include "search/run_state.h"

namespace specgen {

// A cost budget for a model without a price, --shape without a PyTorch task, a task that does not exist, and a task
// that the author cannot write on any backend.
Result<void> check_search(const SearchOptions& options, const Settings& settings);

// The author writes from plans, one for a task and a backend: unknown_name for the first task without one. With
// --start there is a kernel to tune, so that is accepted.
Result<void> check_author(const SearchOptions& options, std::span<const RunTask> tasks);

}  // namespace specgen
