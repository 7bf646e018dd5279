#pragma once
// What wrap() tells the launcher (`PROGRAM internal-sandbox SPEC -- ARGV...`), as one word of JSON.
// Written and read by the same program; nothing in it is secret, for every user can see it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/host/sandbox_features.h"
#include "evaluate/sandbox/sandbox.h"

namespace specgen {

struct SandboxSpec {
  SandboxLevel level = SandboxLevel::none;
  std::string bubblewrap = {};  // its path, from L2 on
  // Bubblewrap makes a namespace for users; without one (it needs root then) the uid changes
  // inside.
  bool user_namespace = true;
  bool disable_user_namespaces = false;  // inside; bubblewrap 0.8 and later
  std::vector<std::string> join = {};    // the cgroup.procs files of its groups
  std::uint32_t uid = 0;                 // to change to; 0 to stay who we are
  SandboxLimits limits = {};
  bool limit_address_space = false;
  bool gpu = false;
  bool own_program = false;                 // the first word of ARGV stands for this very program
  std::vector<std::string> read_only = {};  // of the view
  std::vector<std::string> environment = {};
  std::string folder = {};       // to start in; the private folder if empty
  std::string private_tmp = {};  // at L1: the folder on the host that it may write to
};

// Where our own program and the private folder lie inside bubblewrap.
inline constexpr std::string_view kProgramInside = "/specgen/program";
inline constexpr std::string_view kTmpInside = "/tmp";

std::string to_text(const SandboxSpec& spec);
Result<SandboxSpec> parse_sandbox_spec(std::string_view text);

}  // namespace specgen
