#pragma once
// Tunes the best candidate of one task: while devices are idle, the pool tries the values of its specgen:tune lines.
// A candidate that became faster is reported to the owner, which records it. Private to this module.

#include <cstdint>
#include <functional>

#include "runtime/task_group.h"
#include "search/run_core.h"

namespace specgen {

class Tuner {
 public:
  using OnTuned = std::function<Task<Result<void>>(CandidateId, TunedCandidate)>;
  Tuner(RunCore& core, std::uint32_t task, OnTuned on_tuned);

  // Starts tuning in the background if the candidate is the best of the task and has tunables.
  void consider(Candidate candidate, const Speedup& confirmed);
  Task<Result<void>> join() { return tuning_.join(); }
  void cancel() { tuning_.cancel(); }

 private:
  bool is_worth_tuning(const Candidate& candidate) const;
  Task<void> tune(Candidate candidate, Speedup confirmed);
  Task<Result<void>> try_tune(Candidate candidate, Speedup confirmed);

  RunCore& core_;
  std::uint32_t task_;
  OnTuned on_tuned_;
  TaskGroup tuning_;
};

}  // namespace specgen
