#pragma once
// The folder for data that can be recomputed: $XDG_CACHE_HOME/specgen or ~/.cache/specgen.

#include <filesystem>
#include <optional>
#include <string_view>

namespace specgen {

// A folder below it, created if necessary; nullopt if it cannot be created: then work without a cache.
std::optional<std::filesystem::path> cache_folder(std::string_view name);

}  // namespace specgen
