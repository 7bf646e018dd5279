#pragma once
// What a Cage holds: private to this room.

#include <optional>

#include "evaluate/sandbox/box_identity.h"
#include "evaluate/sandbox/control_group.h"
#include "evaluate/sandbox/sandbox.h"

namespace specgen {

struct Cage::Group {
  std::optional<ControlGroup> control;  // L3
  std::optional<BoxUid> uid;            // where we may give one
  std::optional<PrivateFolder> folder;  // L1
  bool kill_by_uid = false;             // L1: there is no namespace that would take all with it
};

}  // namespace specgen
