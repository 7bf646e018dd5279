#include "evaluate/sandbox/level_cache.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;

std::string to_text(const KnownLevels& known) {
  boost::json::object held;
  for (auto [level, did] : known.held) held[to_string(level)] = did;
  return compact_json(boost::json::object{{"program", known.program},
                                          {"held", std::move(held)},
                                          {"bubblewrap", to_json(known.bubblewrap)},
                                          {"user_namespaces", to_json(known.user_namespaces)},
                                          {"own_uid", to_json(known.own_uid)}});
}

KnownLevels parse_known_levels(std::string_view text, std::string_view program) {
  KnownLevels nothing;
  nothing.program = program;
  auto json = parse_json(text);
  if (!json || !json->is_object() || text_at(*json, "program") != program) return nothing;
  const Json* held = member_at(*json, "held");
  if (!held || !held->is_object()) return nothing;
  KnownLevels known = nothing;
  for (SandboxLevel level : {SandboxLevel::lsm, SandboxLevel::namespaces, SandboxLevel::full}) {
    const Json* did = held->get_object().if_contains(to_string(level));
    if (did && did->is_bool()) known.held[level] = did->get_bool();
  }
  for (auto [name, part] : {std::pair{"bubblewrap", &known.bubblewrap},
                            std::pair{"user_namespaces", &known.user_namespaces},
                            std::pair{"own_uid", &known.own_uid}}) {
    const Json* component = member_at(*json, name);
    if (!component || !component->is_object()) return nothing;
    *part = component_from_json(*component);
  }
  return known;
}

std::string identity_of_programs(const std::vector<std::string>& paths) {
  std::string identity;
  for (const std::string& path : paths) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) continue;
    identity += fmt::format("{} {} {}.{};", path, about.st_size, about.st_mtim.tv_sec,
                            about.st_mtim.tv_nsec);
  }
  return identity;
}

fs::path level_cache_file() {
  fs::path folder = environment_variable("XDG_CACHE_HOME").value_or("");
  if (!folder.is_absolute()) {
    fs::path home = environment_variable("HOME").value_or("");
    if (!home.is_absolute()) return {};
    folder = home / ".cache";
  }
  auto boot = read_file("/proc/sys/kernel/random/boot_id");
  if (!boot) return {};
  return folder / "specgen" / fmt::format("sandbox-{}-{}.json", trim(*boot), ::geteuid());
}

KnownLevels read_level_cache(const fs::path& file, std::string_view program) {
  // A file that another user could have written is not trusted.
  struct stat about{};
  bool ours = !file.empty() && ::lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
              about.st_uid == ::geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  auto content = ours ? read_file(file) : Result<std::string>("");
  return parse_known_levels(content.value_or(""), program);
}

bool write_level_cache(const fs::path& file, const KnownLevels& known) {
  if (file.empty()) return false;
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  return write_file_durably(file, to_text(known)).has_value();
}

}  // namespace specgen
