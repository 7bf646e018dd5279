#pragma once
// Distributions as task.toml writes them: "normal(0, 1)", "heavy(1)". Private to this folder.

#include <string_view>

#include "base/error.h"
#include "evaluate/task/dtype.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

// bad_task: not one of the five, a wrong number of parameters, or an empty range.
Result<Distribution> parse_distribution(std::string_view text);

// bad_task if this dtype cannot represent all numbers of the distribution.
Result<void> check_fits(const Distribution& distribution, Dtype dtype);

}  // namespace specgen
