#pragma once
// The kernel's own fence around files and TCP, for hosts without namespaces (L1). Built while we
// may still open everything, closed once we have become somebody else. Understands every version of
// the interface from the first on: what the kernel does not know yet is left out.

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace specgen {

struct LandlockView {
  std::vector<std::string> read_only = {};  // and to be executed; what does not exist is left out
  std::vector<std::string> writable = {};
  std::vector<std::string> devices = {};  // files and folders to read, write and control, not to
                                          // make anything in
};

// Whatever is in no list cannot be opened, TCP ports neither bound nor connected.
Result<Fd> make_fence(const LandlockView& view);
Result<void> close_fence(const Fd& fence);  // for this process and all that it starts

}  // namespace specgen
