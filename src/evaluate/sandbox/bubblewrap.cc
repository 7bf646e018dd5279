#include "evaluate/sandbox/bubblewrap.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <system_error>

namespace specgen {
namespace fs = std::filesystem;
namespace {

class Arguments {
 public:
  void add(std::initializer_list<std::string> more) {
    list_.insert(list_.end(), more.begin(), more.end());
  }
  // Parent folders that bubblewrap creates by itself could be entered by their owner only.
  void add_folders_above(const fs::path& path) {
    fs::path parent = path.parent_path();
    if (parent == parent.root_path() || !above_.insert(parent).second) return;
    add_folders_above(parent);
    add({"--perms", "0755", "--dir", parent.string()});
  }
  std::vector<std::string> list_;

 private:
  std::set<fs::path> above_;
};

std::vector<std::string> nvidia_devices() {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entries("/dev", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::string name = entries->path().filename().string();
    if (!name.starts_with("nvidia")) continue;
    std::string_view rest = std::string_view(name).substr(6);
    // Not nvidia-modeset, which is for displays.
    bool numbered = !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
    if (numbered || rest == "ctl" || rest == "-uvm" || rest == "-uvm-tools" || rest == "-caps") {
      found.push_back(entries->path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

HostPaths find_host_paths(bool gpu) {
  HostPaths found;
  std::error_code error;
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (fs::is_symlink(path, error)) {
      found.links.emplace_back(path, fs::read_symlink(path, error).string());
    } else if (fs::is_directory(path, error)) {
      found.read_only.emplace_back(path);
    }
  }
  for (const char* path :
       {"/usr", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"}) {
    if (fs::exists(path, error)) found.read_only.emplace_back(path);
  }
  if (!gpu) return found;
  found.devices = nvidia_devices();
  // Without /sys the driver finds no device, although the nodes exist.
  if (fs::exists("/sys", error)) found.read_only.emplace_back("/sys");
  return found;
}

std::vector<std::string> bubblewrap_arguments(const SandboxSpec& spec, const HostPaths& host,
                                              const std::vector<BoundPath>& more, int filter_fd,
                                              const std::vector<std::string>& argv) {
  Arguments to;
  to.add({spec.bubblewrap, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
          "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--hostname", "sandbox"});
  if (spec.user_namespace) {
    to.add({"--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"});
    if (spec.disable_user_namespaces) to.add({"--disable-userns"});
  } else {
    to.add({"--cap-drop", "ALL"});
    // The launcher's second half changes the uid inside, which drops these as well.
    if (spec.uid != 0) to.add({"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"});
  }
  std::string size = std::to_string(spec.limits.tmp_size.count);
  to.add({"--proc", "/proc", "--dev", "/dev"});
  for (const std::string& path : host.devices) to.add({"--dev-bind", path, path});
  // Bubblewrap's own folders are in memory and have no limit on their size: all but these two are
  // made read-only below.
  to.add({"--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"});
  to.add({"--perms", "1777", "--size", size, "--tmpfs", std::string(kTmpInside)});
  for (const std::string& path : host.read_only) {
    to.add_folders_above(path);
    to.add({"--ro-bind", path, path});
  }
  for (const auto& [path, target] : host.links) to.add({"--symlink", target, path});
  for (const BoundPath& bound : more) {
    to.add_folders_above(bound.inside);
    to.add({"--ro-bind", bound.source, bound.inside});
  }
  to.add({"--remount-ro", "/dev", "--remount-ro", "/"});

  to.add({"--clearenv"});
  for (const std::string& variable : spec.environment) {
    std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    to.add({"--setenv", variable.substr(0, equals), variable.substr(equals + 1)});
  }
  to.add({"--chdir", spec.folder.empty() ? std::string(kTmpInside) : spec.folder});
  to.add({"--seccomp", std::to_string(filter_fd), "--"});
  to.list_.insert(to.list_.end(), argv.begin(), argv.end());
  return std::move(to.list_);
}

}  // namespace specgen
