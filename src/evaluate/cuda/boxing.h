#pragma once
// How the processes of this folder get into the sandbox: a function, so that tests can run them
// without one. wrap_with() is the real one; the Sandbox must outlive it.

#include <functional>
#include <memory>

#include "evaluate/sandbox/sandbox.h"

namespace specgen {

struct BoxedCommand {
  Command command;
  std::shared_ptr<void> cage = {};  // must outlive the process
  std::function<bool()> killed_for_memory = [] { return false; };
};
using WrapCommand = std::function<Result<BoxedCommand>(Command, BoxLimits, BoxView)>;

WrapCommand wrap_with(const Sandbox& sandbox);
WrapCommand unboxed();  // as it is

// What the vendor's libraries look at, and nothing else of ours: keys and tokens stay outside.
std::vector<std::string> cuda_environment();

}  // namespace specgen
