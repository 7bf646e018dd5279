#pragma once
// Bubblewrap's command line for a sandbox (L2, L3): what is visible inside, and where. The paths of
// the host are a parameter, so that tests can use fake ones.

#include <string>
#include <utility>
#include <vector>

#include "evaluate/sandbox/sandbox_spec.h"

namespace specgen {

struct BoundPath {
  std::string source;
  std::string inside;
};

// What every program needs of the host.
struct HostPaths {
  std::vector<std::string> read_only = {};  // /usr, the linker's cache
  // /bin -> usr/bin, as on most systems
  std::vector<std::pair<std::string, std::string>> links = {};
  std::vector<std::string> devices = {};  // with gpu: the NVIDIA nodes that exist
};
HostPaths find_host_paths(bool gpu);

// `more` is our own program and the view. Bubblewrap reads the seccomp filter from `filter_fd`.
// `argv` is the command inside.
std::vector<std::string> bubblewrap_arguments(const SandboxSpec& spec, const HostPaths& host,
                                              const std::vector<BoundPath>& more, int filter_fd,
                                              const std::vector<std::string>& argv);

}  // namespace specgen
