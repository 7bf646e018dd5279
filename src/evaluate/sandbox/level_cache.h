#pragma once
// The levels that held in the last self-test, cached for this boot: the self-test takes a tenth of
// a second, and only root can change its result while the kernel runs. The cache is a file in the
// user's cache folder, valid for this boot, user and executable. If it cannot be read or written,
// the self-test runs again.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "evaluate/host/sandbox_features.h"

namespace specgen {

struct KnownLevels {
  std::string program = {};  // size and time of the executables that were tested
  std::map<SandboxLevel, bool> held = {};
  // Also found by running child processes.
  Component bubblewrap = {};
  Component user_namespaces = {};
  Component own_uid = {};
};

std::string to_text(const KnownLevels& known);
KnownLevels parse_known_levels(std::string_view text, std::string_view program);

std::string identity_of_programs(const std::vector<std::string>& paths);
std::filesystem::path level_cache_file();  // empty if the user has no cache folder
KnownLevels read_level_cache(const std::filesystem::path& file, std::string_view program);
// False if it could not be written.
bool write_level_cache(const std::filesystem::path& file, const KnownLevels& known);

}  // namespace specgen
