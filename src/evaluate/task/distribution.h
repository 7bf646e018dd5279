#pragma once
// Distributions as task.toml writes them: "normal(0, 1)", "heavy(1)". Private to the room.

#include <string_view>

#include "base/error.h"
#include "evaluate/task/dtype.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

// ErrorCode::bad_task: not one of the five, the wrong count of numbers, or a range that is none.
Result<Distribution> parse_distribution(std::string_view text);

// bad_task if a tensor of this dtype cannot hold all numbers that may come.
Result<void> check_fits(const Distribution& distribution, Dtype dtype);

}  // namespace specgen
