#pragma once
// Scenarios by name: a file of the user's, or one that ships.

#include <filesystem>
#include <string>

#include "base/error.h"

namespace specgen {

// The file, or unknown_name with the nearest of those that ship.
Result<std::filesystem::path> scenario_file(const std::string& named);

}  // namespace specgen
