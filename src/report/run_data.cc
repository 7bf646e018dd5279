#include "report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/candidate/directives.h"
#include "journal/journal_reader.h"

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
  if (!text) return "null";  // the run was killed before it wrote one
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

std::string_view to_string(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::interrupted:
      return "interrupted";
    case RunStatus::ended:
      return "ended";
  }
  return {};
}

RunStatus RunData::status() const {
  if (is_running) return RunStatus::running;
  bool can_resume = state.ended.empty() || state.ended == kInterrupted;
  return can_resume ? RunStatus::interrupted : RunStatus::ended;
}

Result<RunData> run_from(const std::vector<Entry>& entries) {
  RunData run;
  for (const Entry& entry : entries) TRY(run.state.apply(entry));
  if (!entries.empty()) {
    run.begun = entries.front().at;
    run.changed = entries.back().at;
  }
  return run;
}

void read_artifacts(RunData& run, const ArtifactReader& read) {
  for (const auto& [id, candidate] : run.state.candidates) {
    ArtifactId evaluation = candidate.judged ? candidate.evaluation() : ArtifactId{};
    for (const ArtifactId& wanted : {candidate.source(), evaluation}) {
      if (wanted.sha256.empty() || run.artifacts.contains(wanted.sha256)) continue;
      auto bytes = read(wanted);
      // The rest of the run is shown even if an artifact is lost.
      if (!bytes) {
        run.problems.push_back(fmt::format("{}: {}", to_string(id), bytes.error().summary()));
      }
      run.artifacts[wanted.sha256] = bytes ? std::move(*bytes) : std::string();
    }
  }
}

Result<RunData> read_run(fs::path folder, RunDepth depth) {
  JournalReader reader = TRY(JournalReader::open(folder));
  JournalReader::Update update = TRY(reader.poll());
  RunData run = TRY(run_from(update.entries));
  if (!run.state.begun()) {
    return fail(ErrorCode::no_run, folder.string() + ": its journal is empty");
  }
  run.is_running = update.is_running;
  if (depth == RunDepth::everything) {
    read_artifacts(run, [&](const ArtifactId& id) { return reader.artifact(id); });
  }
  run.folder = std::move(folder);
  run.manifest = read_manifest(run.folder, run.problems);
  return run;
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
                fmt::format("'{}' has no winner: none of its {} candidates is correct", *found,
                            state.candidates.size()),
                fmt::format("`specgen report {}` shows their verdicts", run.folder.string()));
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
