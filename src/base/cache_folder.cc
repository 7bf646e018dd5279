#include "base/cache_folder.h"

#include "base/environment.h"

namespace specgen {

std::optional<std::filesystem::path> cache_folder(std::string_view name) {
  std::string cache = environment_variable("XDG_CACHE_HOME").value_or("");
  std::string home = environment_variable("HOME").value_or("");
  if (cache.empty() && !home.empty()) cache = (std::filesystem::path(home) / ".cache").string();
  if (cache.empty()) return std::nullopt;
  std::filesystem::path folder = std::filesystem::path(cache) / "specgen" / name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return std::nullopt;
  return folder;
}

}  // namespace specgen
