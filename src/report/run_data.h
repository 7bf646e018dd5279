#pragma once
// A run as it lies in its folder, read to be shown: the state that its journal folds to, sources and evaluations by
// their hashes, and the manifest. Plain data; nothing is written. A run that another process is writing is
// refused (journal_locked); a folder without a journal is no run (no_run).
//
//   RunData run = CO_TRY(co_await read_run(loop, driver, "specgen-runs/a"));

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/storage.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "search/run_state.h"

namespace specgen {

struct RunData {
  std::filesystem::path folder;
  RunState state;
  std::string manifest = "null";  // JSON
  WallTime begun;                 // of the first and of the last entry
  WallTime changed;
  std::map<std::string, std::string> artifacts;  // sources and evaluations, by hash
  std::vector<std::string> problems;             // artifacts that are missing or damaged

  // As it is known to be best: of one that was tuned, with the defaults that won. Empty if it is not there.
  const std::string& source_of(const CandidateState& candidate) const;
  const std::string& evaluation_of(const CandidateState& candidate) const;  // JSON
};

enum class RunDepth : std::uint8_t { entries, everything };  // with or without artifacts

Task<Result<RunData>> read_run(Loop& loop, RealDriver& driver, std::filesystem::path folder,
                               RunDepth depth = RunDepth::everything);
// The same from any storage; without manifest.
Task<Result<RunData>> read_run(Storage& storage, RunDepth depth = RunDepth::everything);

// The best kernel of a task of the run.
struct Winner {
  std::uint32_t task = 0;  // number in the run
  CandidateId id;
  Speedup speedup;
  std::string source;       // with its tunables as the defaults
  std::string evaluation;   // JSON, or "null"
  Values tunables = {};     // with which it was fastest
  std::string device = {};  // on which it was judged
  bool is_python() const;   // a module with a class ModelNew
};
// `task`: its title; empty if there is one task only. unknown_name if there is no such task, or no kernel of it
// came out ok.
Result<Winner> winner_of(const RunData& run, std::string_view task);

}  // namespace specgen
