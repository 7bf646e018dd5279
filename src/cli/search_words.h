#pragma once
// The words that `specgen optimize` and `specgen probe` share: which model, which devices, how much at most, where to.

#include <string>
#include <vector>

#include "cli/optimize_command.h"

namespace CLI {
class App;
}

namespace specgen {

class SearchWords {
 public:
  // `rounds` is what a budget of them is called, such as "--iterations".
  void add_to(CLI::App& app, const char* rounds, const char* rounds_help);
  // What was said, looked at; `command` has what the caller's own words say.
  Result<Optimize> look(Optimize command, const char* rounds) const;

 private:
  std::string model_ = "author", devices_ = "auto", out_, resume_;
  std::string iterations_, time_, tokens_, cost_, max_tokens_, seed_;
  std::vector<std::string> tasks_, shapes_;
  bool model_new_ = false, json_ = false;
};

}  // namespace specgen
