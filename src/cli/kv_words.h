#pragma once
// The words of `specgen kv`, for command_line.cc.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace specgen {

class KvWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Result<Invocation>> chosen() const;

 private:
  Result<Invocation> look() const;
  Result<ConfigureKv> config() const;

  std::string action_, listen_;
  std::vector<std::string> nodes_;
  ConfigureKv config_;
  int threads_ = 0;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
