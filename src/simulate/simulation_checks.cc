#include "simulate/simulation_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "journal/journal.h"
#include "simulate/virtual_kernel.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxViolations = 20;

std::uint64_t hash_of(const Entry& entry) {
  TraceHash hash;
  hash.mix(entry.sequence);
  hash.mix(entry.type);
  hash.mix(entry.body);
  return hash.value();
}

}  // namespace

SimulationChecks::SimulationChecks(Loop& loop, const Scenario& scenario, const VirtualDisk& disk,
                                   const Faults& faults)
    : loop_(loop), scenario_(scenario), disk_(disk), faults_(faults) {}

void SimulationChecks::violated(std::string what) {
  if (violations_.size() == kMaxViolations) return;
  violations_.push_back(
      fmt::format("at {}: {}", format_duration(loop_.now().time_since_epoch()), what));
}

void SimulationChecks::controller_started(const RunState& state) {
  state_ = &state;
  compare();
}

void SimulationChecks::on(const Entry& entry) {
  std::uint64_t hash = hash_of(entry);
  loop_.trace(hash);
  if (entry.sequence != written_.size() + 1) {
    violated(fmt::format("entry {} comes after {}", entry.sequence, written_.size()));
    return;
  }
  written_.push_back(hash);
  if (entry.type == "call-ended") check_budget();
  if (scenario_.checks.fold_every == 0) return;
  if (auto applied = witness_.apply(entry); !applied) violated(applied.error().summary());
  if (loop_.events() >= next_comparison_) compare();
}

void SimulationChecks::compare() {
  std::uint64_t every = static_cast<std::uint64_t>(scenario_.checks.fold_every);
  if (every == 0 || !state_) return;
  next_comparison_ = loop_.events() + every;
  check_disk();
  check_queue();
  if (state_->digest() != witness_.digest()) violated("the journal folds to a different state");
}

void SimulationChecks::check_disk() {
  const std::vector<Entry>& entries = disk_.entries;
  if (entries.size() > written_.size()) {
    violated(
        fmt::format("the disk has {} entries, {} were written", entries.size(), written_.size()));
    return;
  }
  for (; on_disk_ < entries.size(); ++on_disk_) {
    if (hash_of(entries[on_disk_]) == written_[on_disk_]) continue;
    violated(fmt::format("entry {} differs on the disk", on_disk_ + 1));
    on_disk_ = entries.size();
    return;
  }
}

void SimulationChecks::check_queue() {
  while (!queue_order_.empty()) {
    auto [since, waiting] = queue_order_.front();
    auto found = queued_.find(waiting);
    if (found != queued_.end() && found->second == since) {
      if (loop_.now() - since <= scenario_.checks.starvation) return;
      violated(fmt::format("{} waits for {} since {}", to_string(waiting.first),
                           to_string(waiting.second), format_duration(loop_.now() - since)));
      queued_.erase(found);
    }
    queue_order_.pop_front();
  }
}

void SimulationChecks::check_budget() {
  if (!state_ || scenario_.run.token_budget == 0) return;
  const TokenTotals& tokens = state_->tokens;
  std::int64_t spent = tokens.main + tokens.forks + tokens.other;
  // One call may be pending when the budget ends; its prompt is an estimate.
  if (spent > scenario_.run.token_budget + scenario_.run.max_tokens) {
    violated(fmt::format("{} tokens were spent of {}", spent, scenario_.run.token_budget));
  }
}

void SimulationChecks::on(const PoolEvent& event) {
  loop_.trace(event.index());
  if (auto* queued = std::get_if<StageQueued>(&event)) {
    Waiting waiting{queued->candidate, queued->stage};
    queued_[waiting] = loop_.now();
    queue_order_.emplace_back(loop_.now(), waiting);
    return;
  }
  if (auto* started = std::get_if<StageStarted>(&event)) {
    loop_.trace(started->device.value << 32 | started->candidate.value);
    auto found = queued_.find({started->candidate, started->stage});
    if (found != queued_.end()) {
      Duration waited = loop_.now() - found->second;
      if (waited > scenario_.checks.starvation) {
        violated(fmt::format("{} waited for {} for {}", to_string(started->candidate),
                             to_string(started->stage), format_duration(waited)));
      }
      queued_.erase(found);
    }
    if (holders_.size() <= started->device.value) holders_.resize(started->device.value + 1);
    CandidateId& holder = holders_[started->device.value];
    if (holder.value) {
      violated(fmt::format("{} gets {} while it has {}", to_string(started->device),
                           to_string(started->candidate), to_string(holder)));
    }
    holder = started->candidate;
    return;
  }
  if (auto* ended = std::get_if<StageEnded>(&event)) {
    if (holders_.size() <= ended->device.value ||
        holders_[ended->device.value] != ended->candidate) {
      violated(fmt::format("{} ends on {}, which does not run it", to_string(ended->candidate),
                           to_string(ended->device)));
      return;
    }
    holders_[ended->device.value] = {};
    return;
  }
  if (auto* over = std::get_if<CandidateEnded>(&event)) {
    if (!ended_.insert(over->candidate.value).second) {
      violated(fmt::format("{} ended twice", to_string(over->candidate)));
    }
    for (Stage stage : {Stage::compile, Stage::validate, Stage::profile, Stage::evaluate}) {
      queued_.erase({over->candidate, stage});
    }
  }
}

RunState SimulationChecks::fold_from_scratch() {
  auto folded = fold<RunState>(disk_.entries);
  if (folded) return std::move(*folded);
  violated("the journal cannot be folded: " + folded.error().summary());
  return {};
}

void SimulationChecks::controller_killed() {
  check_disk();
  check_queue();
  state_ = nullptr;
  queued_.clear();
  queue_order_.clear();
  holders_.clear();
  ended_.clear();
  // Entries that had not reached the disk are lost.
  written_.resize(std::min(written_.size(), disk_.entries.size()));
  on_disk_ = written_.size();
  RunState folded = fold_from_scratch();
  if (scenario_.checks.fold_every != 0) witness_ = std::move(folded);
}

RunState SimulationChecks::ended(std::string_view why, std::uint64_t digest) {
  check_disk();
  state_ = nullptr;
  witness_ = {};
  RunState folded = fold_from_scratch();
  if (written_.size() != disk_.entries.size())
    violated("the run ended, but the disk lacks entries");
  if (digest != folded.digest()) {
    violated("the journal folds to a different state at the end");
  }
  if (!folded.open_candidates().empty()) {
    violated(fmt::format("{} candidates never ended", folded.open_candidates().size()));
  }
  if (!folded.open_iterations().empty()) {
    violated(fmt::format("{} iterations never ended", folded.open_iterations().size()));
  }
  for (std::size_t task = 0; task < folded.tasks.size() && why == "iterations"; ++task) {
    const TaskState& state = folded.tasks[task];
    std::int64_t begun = static_cast<std::int64_t>(state.iterations.size()) - state.uncounted;
    if (begun >= scenario_.run.iterations) continue;
    violated(fmt::format("task {} ended after {} iterations", task, begun));
    break;
  }
  check_verdicts(folded);
  return folded;
}

void SimulationChecks::check_verdicts(const RunState& state) {
  std::uint64_t untrue = 0;
  for (const auto& [id, candidate] : state.candidates) {
    if (!candidate.judged || candidate.judged->withdrawn || candidate.judged->repeated) continue;
    auto source = disk_.artifacts.find(candidate.found.source.sha256);
    if (source == disk_.artifacts.end()) {
      violated(fmt::format("the source of {} is not on the disk", to_string(id)));
      continue;
    }
    if (const auto& tuned = candidate.tuned) {
      auto better = disk_.artifacts.find(tuned->source.sha256);
      if (better == disk_.artifacts.end() || !read_truth(better->second) ||
          better->second == source->second) {
        violated(fmt::format("{} is tuned, but its source is missing", to_string(id)));
      }
    }
    auto truth = read_truth(source->second);
    Verdict verdict = candidate.judged->verdict;
    if (truth && verdict != truth->verdict && verdict != Verdict::harness_error) ++untrue;
  }
  std::uint64_t flaky = faults_.counts()[static_cast<std::size_t>(Fault::flaky_verdict)];
  if (untrue > flaky)
    violated(fmt::format("{} verdicts are wrong, {} faults explain them", untrue, flaky));
}

}  // namespace specgen
