#pragma once
// The contents of SandboxResources (sandbox.h): private to this module.

#include <optional>

#include "evaluate/sandbox/control_group.h"
#include "evaluate/sandbox/sandbox.h"
#include "evaluate/sandbox/sandbox_identity.h"

namespace specgen {

struct SandboxResources::Held {
  std::optional<ControlGroup> group;    // L3
  std::optional<SandboxUid> uid;        // if we are root
  std::optional<PrivateFolder> folder;  // L1
  bool kill_by_uid = false;             // L1: no namespace ends the processes together
};

}  // namespace specgen
