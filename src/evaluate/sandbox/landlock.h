#pragma once
// Landlock restricts files and TCP on hosts without namespaces (L1). The ruleset is made while we
// may still open everything, and enforced after the change of uid. Works with every version of the
// interface: rights that the kernel does not know yet are left out.

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace specgen {

struct LandlockView {
  std::vector<std::string> read_only = {};  // and executable; paths that do not exist are ignored
  std::vector<std::string> writable = {};
  std::vector<std::string> devices = {};  // to read, write and control; nothing can be created
};

// No other path can be opened, and no TCP port bound or connected to.
Result<Fd> make_landlock_ruleset(const LandlockView& view);
Result<void> enforce_landlock(const Fd& ruleset);  // for this process and all that it starts

}  // namespace specgen
