#pragma once
// The only place that reads environment variables, so that all uses can be found by its callers.

#include <optional>
#include <string>
#include <vector>

namespace specgen {

std::optional<std::string> environment_variable(const char* name);

// All variables as NAME=VALUE: what a child inherits.
std::vector<std::string> whole_environment();

}  // namespace specgen
