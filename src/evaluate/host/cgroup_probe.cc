#include "evaluate/host/cgroup_probe.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

struct Mount {
  std::string_view root;
  std::string_view point;
  std::string_view type;
  std::vector<std::string_view> options;
};

// "36 35 0:31 ROOT POINT rw,relatime shared:9 - TYPE SOURCE OPTIONS"
std::optional<Mount> parse_mount(std::string_view line) {
  std::vector<std::string_view> words = split(line, ' ');
  auto dash = std::ranges::find(words, "-");
  if (words.size() < 5 || words.end() - dash < 4) return std::nullopt;
  return Mount{
      .root = words[3], .point = words[4], .type = dash[1], .options = split(dash[3], ',')};
}

// The group that we are in, of one hierarchy: "0::PATH" in v2, "7:memory,cpu:PATH" in v1.
std::string_view own_group(std::string_view own_groups, std::string_view controller) {
  for (std::string_view line : split(own_groups, '\n')) {
    std::size_t first = line.find(':');
    std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::find(controllers, controller) != controllers.end()) {
      return line.substr(second + 1);
    }
  }
  return {};
}

// Our own group and those above it, which decide what it may limit. In a container the path may be outside of
// the mount:
// then the mount itself is used.
std::vector<fs::path> folders_to_try(const Mount& mount, std::string_view group) {
  fs::path top(mount.point);
  std::string_view below = group;
  if (mount.root != "/" && below.starts_with(mount.root)) below.remove_prefix(mount.root.size());
  std::error_code ignored;
  fs::path full = top / fs::path(below).relative_path();
  std::vector<fs::path> folders;
  bool inside = below.size() > 1 && below.find("..") == std::string_view::npos;
  if (inside && fs::is_directory(full, ignored)) {
    for (; full != top && full.has_relative_path(); full = full.parent_path()) {
      folders.push_back(full);
    }
  }
  folders.push_back(top);
  return folders;
}

std::string write_value(const fs::path& file, std::string_view value) {
  Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) {
    return fmt::format("groups in {} have no {}", file.parent_path().parent_path().string(),
                       file.filename().string());
  }
  if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
    return fmt::format("{}: {}", file.string(), std::strerror(errno));
  }
  return {};
}

struct Limit {
  std::string_view file;
  std::string_view value;
};

// Makes a group, sets the limits in it and removes it. An empty answer means that it worked.
std::string try_group(const fs::path& folder, std::initializer_list<Limit> limits) {
  fs::path group = folder / fmt::format("specgen-probe-{}", ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) {
    return fmt::format("no group can be made in {}: {}", folder.string(), std::strerror(errno));
  }
  std::string problem;
  for (const Limit& limit : limits) {
    if (problem.empty()) problem = write_value(group / limit.file, limit.value);
  }
  if (problem.empty() && ::access((folder / "cgroup.procs").c_str(), W_OK) != 0) {
    problem = fmt::format("processes cannot be moved out of {}", folder.string());
  }
  if (::rmdir(group.c_str()) != 0 && problem.empty()) {
    problem = fmt::format("{} cannot be removed: {}", group.string(), std::strerror(errno));
  }
  return problem;
}

// The first folder that works, or the problem of the last.
struct Tried {
  fs::path folder;
  std::string problem;
};
Tried try_folders(const std::vector<fs::path>& folders, std::initializer_list<Limit> limits) {
  Tried tried;
  for (const fs::path& folder : folders) {
    tried.problem = try_group(folder, limits);
    if (!tried.problem.empty()) continue;
    tried.folder = folder;
    break;
  }
  return tried;
}

bool lists(const fs::path& file, std::string_view controller) {
  auto content = read_file(file);
  if (!content) return false;
  auto words = split(trim(*content), ' ');
  return std::ranges::find(words, controller) != words.end();
}

// The root has no type, and only it may enable controllers while it contains processes.
fs::path closed_switch(const fs::path& top) {
  std::error_code ignored;
  bool has =
      lists(top / "cgroup.controllers", "memory") && lists(top / "cgroup.controllers", "pids");
  fs::path gives = top / "cgroup.subtree_control";
  if (!has || fs::exists(top / "cgroup.type", ignored)) return {};
  return lists(gives, "memory") && lists(gives, "pids") ? fs::path() : gives;
}

}  // namespace

std::vector<CgroupPlace> cgroup_places(std::string_view mountinfo, std::string_view own_groups) {
  CgroupPlace v2{.version = "v2"};
  CgroupPlace v1{.version = "v1"};
  for (std::string_view line : split(mountinfo, '\n')) {
    auto mount = parse_mount(line);
    if (!mount) continue;
    if (mount->type == "cgroup2" && v2.memory.empty()) {
      v2.memory = v2.pids = folders_to_try(*mount, own_group(own_groups, ""));
    }
    if (mount->type != "cgroup") continue;
    for (auto [name, folders] : {std::pair{"memory", &v1.memory}, std::pair{"pids", &v1.pids}}) {
      if (!folders->empty() || std::ranges::find(mount->options, name) == mount->options.end())
        continue;
      *folders = folders_to_try(*mount, own_group(own_groups, name));
    }
  }
  std::vector<CgroupPlace> places;
  if (!v2.memory.empty()) places.push_back(std::move(v2));
  if (!v1.memory.empty() && !v1.pids.empty()) places.push_back(std::move(v1));
  return places;
}

Cgroups try_cgroups(const std::vector<CgroupPlace>& places) {
  constexpr Limit kMemoryV2{"memory.max", "268435456"};
  constexpr Limit kMemoryV1{"memory.limit_in_bytes", "268435456"};
  constexpr Limit kProcesses{"pids.max", "64"};
  Cgroups found;
  found.cgroup.problem = "no cgroup file system is mounted";
  for (const CgroupPlace& place : places) {
    bool v2 = place.version == "v2";
    Tried memory, pids;
    if (v2) {
      memory = pids = try_folders(place.memory, {kMemoryV2, kProcesses});
    } else {
      pids = try_folders(place.pids, {kProcesses});
      memory = try_folders(place.memory, {kMemoryV1});
    }
    found.cgroup.found = true;
    found.cgroup.problem = memory.problem.empty() ? pids.problem : memory.problem;
    if (v2 && !found.cgroup.problem.empty())
      found.closed_switch = closed_switch(place.memory.back());
    if (!found.cgroup.problem.empty()) continue;
    found.cgroup.works = true;
    found.cgroup.version = place.version;
    found.cgroup.path = memory.folder.string();
    found.memory_folder = std::move(memory.folder);
    found.pids_folder = std::move(pids.folder);
    found.closed_switch.clear();
    break;
  }
  return found;
}

Cgroups probe_cgroups() {
  auto mountinfo = read_file("/proc/self/mountinfo");
  auto own_groups = read_file("/proc/self/cgroup");
  if (!mountinfo || !own_groups) return try_cgroups({});
  return try_cgroups(cgroup_places(*mountinfo, *own_groups));
}

}  // namespace specgen
