#pragma once
// The words of `specgen optimize`, for command_line.cc.

#include <optional>
#include <string>

#include "cli/optimize_command.h"
#include "cli/search_words.h"

namespace CLI {
class App;
}

namespace specgen {

class OptimizeWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Result<Optimize>> chosen() const;

 private:
  Result<Optimize> look() const;

  SearchWords shared_;
  Optimize command_;
  bool no_speculate_ = false, no_harvest_ = false, no_forks_ = false;
  std::string shadow_, thinkers_;
  CLI::App* app_ = nullptr;
};

}  // namespace specgen
