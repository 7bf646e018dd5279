#include "evaluate/sandbox/control_group.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "specgen";
constexpr useconds_t kPause = 200;
constexpr int kMaxTries = 1000;  // at the start and at the end of a program

Result<void> set(const fs::path& file, std::string_view value) {
  Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
    return fail_errno(file.string(), errno);
  }
  return {};
}

// For files that only some kernels have.
void set_if_present(const fs::path& file, std::string_view value) {
  auto done = set(file, value);
  (void)done;
}

void kill_inside(const fs::path& folder) {
  if (set(folder / "cgroup.kill", "1")) return;
  auto listed = read_file(folder / "cgroup.procs");
  if (!listed) return;
  for (std::string_view line : split(*listed, '\n')) {
    pid_t pid = 0;
    std::from_chars(line.data(), line.data() + line.size(), pid);
    if (pid > 0) ::kill(pid, SIGKILL);
  }
}

bool remove_now(const fs::path& folder) {
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

bool remove_with_retries(const fs::path& folder, int max_tries) {
  for (int tries = 0; tries < max_tries; ++tries) {
    if (remove_now(folder)) return true;
    kill_inside(folder);
    ::usleep(kPause);
  }
  return remove_now(folder);
}

// Used by the loop's thread only, like everything in this file.
struct LeftOver {
  ~LeftOver() {
    for (const fs::path& folder : folders) remove_with_retries(folder, kMaxTries);
  }
  std::vector<fs::path> folders;
};
std::vector<fs::path>& left_over() {
  static LeftOver all;
  return all.folders;
}

}  // namespace

Result<ControlGroup> ControlGroup::make(const Cgroups& cgroups, Bytes memory, int processes) {
  static std::uint64_t count = 0;
  remove_left_over_groups();
  std::string name = fmt::format("{}-{}-{}", kPrefix, ::getpid(), ++count);
  std::string max_memory = std::to_string(memory.count);
  ControlGroup group;
  auto add = [&](const fs::path& parent) -> Result<fs::path> {
    fs::path folder = parent / name;
    if (::mkdir(folder.c_str(), 0755) != 0) return fail_errno(folder.string(), errno);
    group.folders_.push_back(folder);
    return folder;
  };
  fs::path first = TRY(add(cgroups.memory_folder));
  if (cgroups.cgroup.version == "v2") {
    TRY(set(first / "memory.max", max_memory));
    set_if_present(first / "memory.swap.max", "0");
    set_if_present(first / "memory.oom.group", "1");
    TRY(set(first / "pids.max", std::to_string(processes)));
    return group;
  }
  TRY(set(first / "memory.limit_in_bytes", max_memory));
  set_if_present(first / "memory.memsw.limit_in_bytes", max_memory);
  set_if_present(first / "memory.swappiness", "0");
  fs::path pids =
      cgroups.pids_folder == cgroups.memory_folder ? first : TRY(add(cgroups.pids_folder));
  TRY(set(pids / "pids.max", std::to_string(processes)));
  return group;
}

ControlGroup::~ControlGroup() {
  for (const fs::path& folder : folders_) {
    // Killed processes exit a little later, and the loop does not wait for them.
    if (remove_now(folder)) continue;
    kill_inside(folder);
    if (!remove_now(folder)) left_over().push_back(folder);
  }
}

std::vector<std::string> ControlGroup::join_files() const {
  std::vector<std::string> files;
  for (const fs::path& folder : folders_) files.push_back((folder / "cgroup.procs").string());
  return files;
}

std::int64_t ControlGroup::killed_for_memory() const {
  for (const char* file : {"memory.events", "memory.oom_control"}) {
    auto content = read_file(folders_.front() / file);
    if (content) return counter_in(*content, "oom_kill").value_or(0);
  }
  return 0;
}

void remove_left_over_groups() {
  std::erase_if(left_over(), [](const fs::path& folder) {
    kill_inside(folder);
    return remove_now(folder);
  });
}

void remove_groups_of_dead_processes(const Cgroups& cgroups) {
  for (const fs::path& parent : {cgroups.memory_folder, cgroups.pids_folder}) {
    if (parent.empty()) continue;
    std::error_code error;
    std::vector<fs::path> orphans;
    fs::directory_iterator entries(parent, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      auto creator = creator_from_name(entries->path().filename().string(), kPrefix);
      if (creator && is_dead(*creator)) orphans.push_back(entries->path());
    }
    for (const fs::path& folder : orphans) remove_with_retries(folder, kMaxTries);
  }
}

std::optional<std::int64_t> counter_in(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.substr(0, space) != name) continue;
    std::string_view digits = trim(line.substr(space + 1));
    std::int64_t count = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return count;
  }
  return std::nullopt;
}

std::optional<pid_t> creator_from_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::vector<std::string_view> parts = split(name.substr(prefix.size()), '-');
  if (parts.size() != 3 || !parts[0].empty() || parts[2].empty()) return std::nullopt;
  for (std::string_view part : {parts[1], parts[2]}) {
    if (part.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  }
  pid_t pid = 0;
  auto [end, error] = std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), pid);
  if (error != std::errc() || pid <= 0) return std::nullopt;
  return pid;
}

bool is_dead(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace specgen
