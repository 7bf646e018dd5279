#pragma once
// The words of `specgen probe`, for command_line.cc. A probe is a search whose reasoning is studied.

#include <optional>
#include <string>

#include "cli/optimize_command.h"
#include "cli/search_words.h"

namespace CLI {
class App;
}

namespace specgen {

class ProbeWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Result<Optimize>> chosen() const;

 private:
  Result<Optimize> look() const;

  SearchWords shared_;
  std::string every_;
  bool no_control_ = false;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
