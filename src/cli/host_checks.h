#pragma once
// What a host offers, as a list of checks that a person can act on: each says what was found, what
// it is for, and the step that fixes it. A pure function of the report, so that every sentence can
// be tested.

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "evaluate/host/host.h"

namespace specgen {

enum class CheckState {
  ok,
  limited,  // usable, but less than it could be
  missing,  // not usable here: absent, or there and broken
};
std::string_view to_string(CheckState state);

struct Check {
  std::string id = {};     // stable, "cuda.nvrtc"
  std::string group = {};  // stable: cpu, cuda, profiling, sandbox, python, machine
  std::string name = {};   // for people
  CheckState state = CheckState::missing;
  std::string detail = {};
  std::string purpose = {};
  std::string fix = {};  // empty exactly when ok
};

// All checks, always the same ids in the same order, group by group.
std::vector<Check> checks_of(const HostReport& host, Bytes min_free_disk);

// "CUDA kernels" for the group "cuda".
std::string_view group_title(std::string_view group);

// One line: what this host can do.
std::string verdict(const HostReport& host);

}  // namespace specgen
