#pragma once
// A run as it is in its folder, read to be shown: the state its journal folds to, sources and evaluations by hash, and
// the manifest. Plain data; nothing is written. Blocks. A run that another process is writing is read up to its last
// durable entry; a folder without a journal is no_run.
//
//   RunData run = TRY(read_run("specgen-runs/a"));

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "journal/storage.h"
#include "search/run_state.h"

namespace specgen {

enum class RunStatus : std::uint8_t {
  running,      // a process is writing it
  interrupted,  // no process is, and it has not ended: it can be resumed
  ended,
};
std::string_view to_string(RunStatus status);

struct RunData {
  std::filesystem::path folder;
  RunState state;
  bool is_running = false;
  std::string manifest = "null";  // JSON
  WallTime begun;                 // of the first and of the last entry
  WallTime changed;
  std::map<std::string, std::string> artifacts;  // sources and evaluations, by hash
  std::vector<std::string> problems;             // artifacts that are missing or damaged

  RunStatus status() const;
  // The best version that is known: of a tuned candidate, the one with the winning defaults. Empty if it is missing.
  const std::string& source_of(const CandidateState& candidate) const;
  const std::string& evaluation_of(const CandidateState& candidate) const;  // JSON
};

enum class RunDepth : std::uint8_t { entries, everything };  // without or with artifacts

Result<RunData> read_run(std::filesystem::path folder, RunDepth depth = RunDepth::everything);

// The two steps of it, for other sources of entries and artifacts.
Result<RunData> run_from(const std::vector<Entry>& entries);
using ArtifactReader = std::function<Result<std::string>(const ArtifactId&)>;
void read_artifacts(RunData& run, const ArtifactReader& read);

// The best kernel of a task of the run.
struct Winner {
  std::uint32_t task = 0;  // number in the run
  CandidateId id;
  Speedup speedup;
  std::string source;       // with its tunables as the defaults
  std::string evaluation;   // JSON, or "null"
  Values tunables = {};     // with which it was fastest
  std::string device = {};  // on which it was profiled
  bool is_python() const;   // a module with a class ModelNew
};
// `task`: its title; may be empty if the run has one task. unknown_name if there is no such task, or it has no valid
// kernel.
Result<Winner> winner_of(const RunData& run, std::string_view task);

}  // namespace specgen
