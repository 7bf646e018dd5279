#include "report/run_data.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/candidate/directives.h"
#include "journal/sqlite_storage.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

const std::string& artifact_of(const RunData& run, const ArtifactId& id) {
  static const std::string kNothing;
  auto found = run.artifacts.find(id.sha256);
  return found == run.artifacts.end() ? kNothing : found->second;
}

std::string read_manifest(const fs::path& folder, std::vector<std::string>& problems) {
  auto text = read_file(folder / "manifest.json");
  if (!text) return "null";  // a run that was killed before it wrote one
  auto json = parse_json(*text);
  if (json) return compact_json(*json);
  problems.push_back("manifest.json: " + json.error().context);
  return "null";
}

}  // namespace

const std::string& RunData::source_of(const CandidateState& candidate) const {
  return artifact_of(*this, candidate.source());
}

const std::string& RunData::evaluation_of(const CandidateState& candidate) const {
  return artifact_of(*this, candidate.judged ? candidate.evaluation() : ArtifactId{});
}

Task<Result<RunData>> read_run(Storage& storage, RunDepth depth) {
  RunData run;
  std::vector<Entry> entries = CO_TRY(co_await storage.load());
  for (const Entry& entry : entries) CO_TRY(run.state.apply(entry));
  if (!entries.empty()) {
    run.begun = entries.front().at;
    run.changed = entries.back().at;
  }
  if (depth == RunDepth::entries) co_return run;
  for (const auto& [id, candidate] : run.state.candidates) {
    ArtifactId evaluation = candidate.judged ? candidate.evaluation() : ArtifactId{};
    for (const ArtifactId& wanted : {candidate.source(), evaluation}) {
      if (wanted.sha256.empty() || run.artifacts.contains(wanted.sha256)) continue;
      auto bytes = co_await storage.get(wanted);
      // One that is lost is no reason not to show the rest.
      if (!bytes)
        run.problems.push_back(fmt::format("{}: {}", to_string(id), bytes.error().summary()));
      run.artifacts[wanted.sha256] = bytes ? std::move(*bytes) : std::string();
    }
  }
  co_return run;
}

Task<Result<RunData>> read_run(Loop& loop, RealDriver& driver, fs::path folder, RunDepth depth) {
  std::error_code trouble;
  if (!fs::is_regular_file(folder / "journal.db", trouble)) {
    co_return fail(ErrorCode::no_run, folder.string());
  }
  auto storage = CO_TRY(co_await SqliteStorage::open(loop, driver, folder));
  auto run = co_await read_run(*storage, depth);
  CO_TRY(co_await storage->close());
  if (!run) co_return std::unexpected(run.error());
  if (!run->state.begun()) {
    co_return fail(ErrorCode::no_run, folder.string() + ": its journal is empty");
  }
  run->folder = std::move(folder);
  run->manifest = read_manifest(run->folder, run->problems);
  co_return run;
}

bool Winner::is_python() const {
  return source.find("class ModelNew") != std::string::npos &&
         source.find("import torch") != std::string::npos;
}

Result<Winner> winner_of(const RunData& run, std::string_view task) {
  std::vector<std::string> names;
  for (const RunTask& each : run.state.run.tasks) names.push_back(each.name);
  if (task.empty() && names.size() > 1) {
    return fail(ErrorCode::bad_usage, fmt::format("the run has {} tasks", names.size()),
                "choose one with --task: " + join(names, ", "));
  }
  auto found = task.empty() ? names.begin() : std::ranges::find(names, task);
  if (found == names.end()) {
    return fail(ErrorCode::unknown_name,
                fmt::format("the run has no task '{}'{}", task, did_you_mean(task, names)),
                "its tasks: " + join(names, ", "));
  }
  Winner winner;
  winner.task = static_cast<std::uint32_t>(found - names.begin());
  const TaskState& state = run.state.tasks[winner.task];
  if (state.best.value == 0) {
    return fail(ErrorCode::unknown_name,
                fmt::format("'{}' has no winner: none of its {} candidates came out ok", *found,
                            state.candidates.size()),
                fmt::format("`specgen report {}` shows what became of them", run.folder.string()));
  }
  const CandidateState& candidate = run.state.candidates.at(state.best);
  winner.id = state.best;
  winner.speedup = candidate.speedup();
  winner.tunables = candidate.tunables();
  winner.source = run.source_of(candidate);
  winner.evaluation = run.evaluation_of(candidate).empty() ? "null" : run.evaluation_of(candidate);
  if (winner.source.empty()) {
    return fail(ErrorCode::artifact_damaged, fmt::format("the source of {}", to_string(winner.id)));
  }
  Json evaluation = TRY(parse_json(winner.evaluation));
  winner.device = text_at(evaluation, "device");
  const Json* tunables = member_at(evaluation, "tunables");
  if (winner.tunables.empty() && tunables && tunables->is_object()) {
    for (const auto& [name, value] : tunables->get_object()) {
      if (value.is_int64()) winner.tunables[std::string(name)] = value.get_int64();
    }
  }
  if (auto as_judged = with_defaults(winner.source, winner.tunables)) {
    winner.source = std::move(*as_judged);
  }
  return winner;
}

}  // namespace specgen
