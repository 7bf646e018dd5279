#pragma once
// Which levels held when they were last tried, kept for this boot: the self-test takes a tenth of a
// second, and nothing that it asks changes under a running kernel without root's doing. A file in
// the user's cache folder, tied to the boot, the user and this very executable. What cannot be
// read is not known; what cannot be written is tried again next time.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "evaluate/host/sandbox_features.h"

namespace specgen {

struct KnownLevels {
  std::string program = {};  // whose they are: size and time of the executables
  std::map<SandboxLevel, bool> held = {};
  // What else takes a child process to find out.
  Component bubblewrap = {};
  Component user_namespaces = {};
  Component own_uid = {};
};

std::string to_text(const KnownLevels& known);
KnownLevels parse_known_levels(std::string_view text, std::string_view program);

std::string identity_of_programs(const std::vector<std::string>& paths);
std::filesystem::path level_cache_file();  // empty if there is no place for it
KnownLevels read_level_cache(const std::filesystem::path& file, std::string_view program);
void write_level_cache(const std::filesystem::path& file, const KnownLevels& known);

}  // namespace specgen
