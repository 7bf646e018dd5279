#pragma once
// Runs for tests, built as the entries that such a run would have recorded. Sources and evaluations are kept
// by hash, as
// in a run folder.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/hash.h"
#include "report/run_data.h"

namespace specgen {

class FakeRun {
 public:
  explicit FakeRun(std::vector<RunTask> tasks = {{"softmax", "tasks/softmax", "cpu"}}) {
    add(to_entry(RunBegun{.tasks = std::move(tasks),
                          .workflow = "refine",
                          .criterion = "beats-mean",
                          .model = "author",
                          .seed = 1,
                          .budgets = {.iterations = 6}}));
  }

  IterationId iteration(std::uint32_t task = 0, std::string role = "writer") {
    IterationId id{++iterations_};
    add(to_entry(IterationBegun{.id = id, .task = task, .role = std::move(role)}));
    return id;
  }
  void call(IterationId iteration, std::string purpose, std::int64_t tokens, double from,
            double to) {
    std::uint64_t id = ++calls_;
    add(to_entry(CallSent{.id = id, .iteration = iteration, .purpose = std::move(purpose)}));
    add(to_entry(CallDone{.id = id,
                          .usage = {.completion_tokens = tokens},
                          .sent = from_seconds(from),
                          .ended = from_seconds(to)}));
  }
  CandidateId candidate(IterationId iteration, Origin origin, std::string source, double at,
                        CandidateId parent = {}, std::string trigger = {}, bool shadow = false) {
    CandidateId id{++candidates_};
    add(to_entry(CandidateFound{.id = id,
                                .iteration = iteration,
                                .origin = origin,
                                .source = keep(std::move(source)),
                                .parent = parent,
                                .trigger = std::move(trigger),
                                .at = from_seconds(at),
                                .shadow = shadow}));
    return id;
  }
  void judge(CandidateId id, CandidateJudged judged, std::string evaluation = {}) {
    judged.id = id;
    if (!evaluation.empty()) judged.evaluation = keep(std::move(evaluation));
    add(to_entry(judged));
  }
  // Ok, profiled, on cpu:0 for `device_seconds` until `at`.
  void confirm(CandidateId id, double speedup, double at, double device_seconds = 1,
               std::string evaluation = {}) {
    auto time = [](double second) { return Time(from_seconds(second)); };
    judge(id,
          {.verdict = Verdict::ok,
           .speedup = {speedup, speedup * 0.98, speedup * 1.02},
           .peak_fraction = 0.5,
           .profiled = true,
           .spans = {{Stage::compile, "compile", time(at - 3), time(at - 3), time(at - 2)},
                     {Stage::validate, "cpu:0", time(at - 2), time(at - device_seconds),
                      time(at - device_seconds / 2)},
                     {Stage::profile, "cpu:0", time(at - device_seconds / 2),
                      time(at - device_seconds / 2), time(at)}},
           .at = from_seconds(at)},
          std::move(evaluation));
  }
  void end(IterationId id, IterationEnd end, CandidateId by = {}, std::int64_t saved = 0) {
    add(to_entry(
        IterationEnded{.id = id, .end = end, .by = by, .tokens = 1000, .saved_tokens = saved}));
  }
  void shadow(IterationId id, std::int64_t tokens, double saved) {
    add(to_entry(ShadowEnded{
        .iteration = id, .saved_tokens = tokens, .saved = from_seconds(saved), .whole = true}));
  }
  void add(EntryText text) {
    entries_.push_back({.sequence = entries_.size() + 1,
                        .at = {1'700'000'000'000},
                        .type = std::move(text.first),
                        .body = std::move(text.second)});
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& artifacts() const { return artifacts_; }
  RunData data() const {
    RunData run;
    run.folder = "runs/fake";
    for (const Entry& entry : entries_) {
      SG_ASSERT(run.state.apply(entry), "the entries of a fake run are valid");
    }
    run.artifacts = artifacts_;
    return run;
  }

  ArtifactId keep(std::string bytes) {
    std::string name = sha256_hex(bytes);
    artifacts_[name] = std::move(bytes);
    return {name};
  }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::string> artifacts_;
  std::uint64_t iterations_ = 0;
  std::uint64_t candidates_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace specgen
