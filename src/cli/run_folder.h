#pragma once
// The folder of a run: a new one of its own, its manifest, and what `--resume` may change.

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/search_options.h"
#include "report/run_data.h"
#include "schedule/evaluation_pool.h"

namespace specgen {

// A new folder: --out if given, else "RUNS/2026-11-15-131502-softmax", with a suffix where that is taken.
// Creating the folder claims its name: two runs that start at the same time get two folders.
Result<std::filesystem::path> make_run_folder(const SearchOptions& options,
                                              const std::filesystem::path& runs, WallTime now);

// manifest.json: how the run was started, for --resume, verify and export. Budgets are in the journal too.
Json manifest_of(const SearchOptions& options, std::span<const RunTask> tasks,
                 std::span<const PoolDevice> devices);

// A run that is to be resumed: the options that it was started with, and the backend of each task.
struct StartedRun {
  SearchOptions options;
  std::vector<std::string> backends;
};
Result<StartedRun> read_manifest(const std::filesystem::path& folder);

// The shapes in a manifest, as --shape gave them.
std::map<std::string, std::int64_t> shapes_in(const Json& manifest);

// The options of the resumed run: those it was started with, and what `given` changes of them. The model, the devices,
// the KV cache and the budgets may change; for any other flag with another value the error says what to do.
Result<SearchOptions> resumed_options(const SearchOptions& started, const SearchOptions& given);

}  // namespace specgen
