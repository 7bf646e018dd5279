#pragma once
// The words of the commands that look at runs, for command_line.cc: what they are called, what they take, what they
// were parsed into.

#include <optional>

#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace specgen {

class RunWords {
 public:
  void add_to(CLI::App& app);
  // Nothing if another command was chosen.
  std::optional<Invocation> chosen() const;

 private:
  ReportRun report_;
  ListRuns list_;
  VerifyRun verify_;
  ExportRun export_;
  CLI::App* report_app_ = nullptr;
  CLI::App* list_app_ = nullptr;
  CLI::App* verify_app_ = nullptr;
  CLI::App* export_app_ = nullptr;
};

}  // namespace specgen
