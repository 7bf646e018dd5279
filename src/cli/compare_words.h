#pragma once
// The words of `specgen compare`, for command_line.cc.

#include <optional>

#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace specgen {

class CompareWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Invocation> chosen() const;

 private:
  CompareSystems command_;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
