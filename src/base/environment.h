#pragma once
// The one place that reads environment variables, so that a reader finds every one of them.

#include <optional>
#include <string>
#include <vector>

namespace specgen {

std::optional<std::string> environment_variable(const char* name);

// All of them, as NAME=VALUE: what a child inherits.
std::vector<std::string> whole_environment();

}  // namespace specgen
