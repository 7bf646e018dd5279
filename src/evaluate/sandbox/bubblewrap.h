#pragma once
// How bubblewrap is called for a sandbox (L2, L3): what is visible inside, and where. The arguments
// follow from what was found on the host, so that tests can make hosts up.

#include <string>
#include <utility>
#include <vector>

#include "evaluate/sandbox/sandbox_spec.h"

namespace specgen {

struct BoundPath {
  std::string source;
  std::string inside;
};

// What a program needs of a host to run at all.
struct HostPaths {
  std::vector<std::string> read_only = {};  // /usr, the linker's cache
  // /bin -> usr/bin, as most systems have it
  std::vector<std::pair<std::string, std::string>> links = {};
  std::vector<std::string> devices = {};  // with gpu: NVIDIA's nodes that exist
};
HostPaths find_host_paths(bool gpu);

// `more` are the program itself and the view, perhaps from where the launcher has put them. The
// filter on system calls is read from `filter_fd`. `argv` is as it will be inside.
std::vector<std::string> bubblewrap_arguments(const SandboxSpec& spec, const HostPaths& host,
                                              const std::vector<BoundPath>& more, int filter_fd,
                                              const std::vector<std::string>& argv);

}  // namespace specgen
