#pragma once
// The candidates of one task: has them evaluated, records them in the journal and keeps the history that the workflow
// sees. A candidate that was tuned is in the history twice, the second time when the tuning ended. Private to this
// module.
//
// Candidates belong to the store, not to the iteration that found them: results that come after an iteration has ended
// still count. Destroying the store cancels what is being evaluated.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/task_group.h"
#include "search/run_core.h"
#include "search/tuner.h"
#include "search/workflow.h"
#include "speculate/iteration_context.h"

namespace specgen {

struct SubmittedCandidate {
  CandidateId id;
  IterationId iteration;
  CandidateId parent;
  FoundKernel kernel;
};

struct EvaluatedCandidate {
  const SubmittedCandidate& candidate;
  const Judged& judged;
  double peak_fraction = 0;
  SpeedupsSoFar before;       // of the task, without this candidate
  bool has_feedback = false;  // new knowledge that may be used: no shadow
};

class CandidateStore {
 public:
  using OnEvaluated = std::function<void(const EvaluatedCandidate&)>;
  // `on_evaluated` is called for every candidate that was evaluated, after it was recorded.
  CandidateStore(RunCore& core, std::uint32_t task, OnEvaluated on_evaluated);

  // Restores the history of a resumed run, and evaluates what was found and not evaluated.
  Task<Result<void>> recall();

  // Records a kernel and has it evaluated in the background.
  CandidateId submit(IterationId iteration, CandidateId parent, FoundKernel kernel);
  // The same, until it is evaluated.
  Task<Result<void>> evaluate(IterationId iteration, FoundKernel kernel);

  const std::vector<KnownKernel>& history() const { return history_; }
  const KnownKernel* find(CandidateId id) const;  // null: not in the history

  // Until nothing is being evaluated or tuned.
  Task<Result<void>> join();
  void cancel();

 private:
  Task<void> evaluate_new(SubmittedCandidate candidate);
  Task<void> evaluate_recalled(SubmittedCandidate candidate);
  Task<Result<void>> record_and_evaluate(SubmittedCandidate candidate);
  Task<Result<void>> evaluate_recorded(SubmittedCandidate candidate);
  Task<Result<void>> record_tuned(CandidateId id, TunedCandidate tuned);
  void add_to_history(KnownKernel kernel);
  Task<Result<KnownKernel>> recall_kernel(const CandidateState& candidate);
  Task<Result<KnownKernel>> recall_tuned(const CandidateState& candidate);
  Candidate candidate_of(const CandidateFound& found, std::string source) const;
  std::vector<StageSpan> since_begun(std::vector<StageSpan> spans) const;
  const RunTask& task() const { return core_.state.run.tasks[number_]; }

  RunCore& core_;
  std::uint32_t number_;
  OnEvaluated on_evaluated_;
  std::vector<KnownKernel> history_;
  TaskGroup evaluating_;
  Tuner tuner_;
};

}  // namespace specgen
