#pragma once
// The words of `specgen simulate`, for command_line.cc.

#include <optional>

#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace specgen {

class SimulateWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Invocation> chosen() const;

 private:
  SimulateScenario command_;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
