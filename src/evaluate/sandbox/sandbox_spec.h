#pragma once
// What wrap() passes to the launcher (`PROGRAM internal-sandbox SPEC -- ARGV...`), as one argument
// of JSON. Written and read by the same program. Nothing in it is secret: every user can see it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/host/sandbox_features.h"
#include "evaluate/sandbox/sandbox.h"
#include "evaluate/sandbox/seccomp_filter.h"

namespace specgen {

struct SandboxSpec {
  SandboxLevel level = SandboxLevel::none;
  std::string bubblewrap = {};  // its path, from L2 on
  // Whether bubblewrap creates a user namespace. Without one it needs root, and the uid changes
  // inside.
  bool user_namespace = true;
  bool disable_user_namespaces = false;  // inside; bubblewrap 0.8 and later
  std::vector<std::string> join = {};    // the cgroup.procs files of its groups
  std::uint32_t uid = 0;                 // to change to; 0: keep the current one
  SandboxLimits limits = {};
  bool limit_address_space = false;
  bool gpu = false;
  bool own_program = false;                 // ARGV[0] means this program
  std::vector<std::string> read_only = {};  // of the view
  std::vector<std::string> environment = {};
  std::string folder = {};       // to start in; the private folder if empty
  std::string private_tmp = {};  // L1: the folder on the host that it may write to
  FilterProgram filter = {};
};

// The paths of our own program and the private folder inside bubblewrap.
inline constexpr std::string_view kProgramInside = "/specgen/program";
inline constexpr std::string_view kTmpInside = "/tmp";

std::string to_text(const SandboxSpec& spec);
Result<SandboxSpec> parse_sandbox_spec(std::string_view text);

}  // namespace specgen
