#pragma once
// Where things are kept that can be made again: $XDG_CACHE_HOME/specgen or ~/.cache/specgen.

#include <filesystem>
#include <optional>
#include <string_view>

namespace specgen {

// A folder below it, made if it is not there. Nothing where it cannot be: then do without.
std::optional<std::filesystem::path> cache_folder(std::string_view name);

}  // namespace specgen
