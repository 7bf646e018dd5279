#pragma once
// The model of a search: what --model names, or the same behind a recorder where --record asks for a cassette.

#include <memory>
#include <string>

#include "base/error.h"
#include "cli/command_loop.h"
#include "cli/search_options.h"
#include "cli/settings.h"
#include "generate/call_ledger.h"
#include "generate/model.h"

namespace specgen {

// The built-in author, as `author` or `author:PACE`.
bool is_author(std::string_view model);

class RunModel {
 public:
  // The ledger outlives it. A server is probed first for what it can do, unless specgen.toml says that.
  static Task<Result<std::unique_ptr<RunModel>>> open(CommandLoop& command,
                                                      const SearchOptions& options,
                                                      const Settings& settings, CallLedger& ledger);
  ~RunModel();

  Model& model();
  Task<Result<void>> close();  // the cassette, if any, is on the disk afterwards

 private:
  struct Parts;
  explicit RunModel(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace specgen
