#pragma once
// The model of a run: what --model names, or the same behind a recorder where --record asks for a cassette.

#include <memory>
#include <string>

#include "base/error.h"
#include "cli/optimize_command.h"
#include "cli/settings.h"
#include "cli/workbench.h"
#include "generate/call_ledger.h"
#include "generate/model.h"

namespace specgen {

class RunModel {
 public:
  // The ledger outlives it.
  static Task<Result<std::unique_ptr<RunModel>>> open(Workbench& bench, const Optimize& command,
                                                      const Settings& settings, CallLedger& ledger);
  ~RunModel();

  Model& model();
  Task<Result<void>> close();  // what was recorded is on the disk

 private:
  struct Parts;
  explicit RunModel(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace specgen
