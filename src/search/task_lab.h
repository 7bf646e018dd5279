#pragma once
// The lab of one task: makes iterations of prompts, has everything they find judged and written down, and keeps the
// history that the workflow sees, where one that was tuned stands a second time. Private to this room.
//
// What is judged belongs to the lab, not to the iteration that found it: results that come after an iteration has ended
// still count.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "search/run_core.h"
#include "search/workflow.h"
#include "speculate/iteration.h"

namespace specgen {

// What a prompt may tell of one that was judged.
KnownKernel known_kernel(const CandidateFound& found, const CandidateJudged& judged,
                         std::string source, const Json& evaluation);
Values tunables_of(const Json& evaluation);

class TaskLab final : public WorkflowContext, private CandidateSink {
 public:
  TaskLab(RunCore& core, std::uint32_t task);
  ~TaskLab() override;

  // What a former process knew: the history, and what it had found and not judged.
  Task<Result<void>> recall();
  // Judges a kernel that the user has, before the search begins.
  Task<Result<void>> begin_from(std::string source);
  // Until nothing of this task is being judged any more.
  Task<void> finish_judging();
  void drop_judging() { judging_.cancel(); }
  void call_ended(IterationId iteration, const CallRecord& call);  // of one of its iterations

  const RunTask& task() const override;
  std::uint32_t task_number() const override { return number_; }
  const std::vector<KnownKernel>& history() const override { return history_; }
  std::int64_t iterations_begun() const override;
  bool may_continue() const override;
  Random& random() override { return random_; }
  Task<Result<IterationOutcome>> write_kernel(Prompt prompt) override;
  Task<Result<std::string>> advise(Prompt prompt) override;
  Task<Result<std::vector<IterationOutcome>>> write_kernels(std::vector<Prompt> prompts,
                                                            bool first_pass_wins) override;
  Task<Result<void>> side_by_side(std::vector<Task<Result<void>>> workers) override;
  void repair_with(RepairPrompter prompter) override { repair_prompter_ = std::move(prompter); }

 private:
  CandidateId found(IterationId iteration, FoundKernel kernel) override;
  bool may_spend(std::int64_t tokens) const override { return core_.may_spend(tokens); }
  PoolLoad load() const override { return core_.parts.pool.load(); }
  std::int64_t tokens_for_a_good_one() const override {
    return core_.state.tokens_for_a_good_one(number_);
  }
  std::optional<Mending> words_to_mend(CandidateId failed) override;

  struct Subject {  // of judging
    CandidateId id;
    IterationId iteration;
    CandidateId parent;
    FoundKernel kernel;
  };
  Task<Result<IterationOutcome>> iterate(Prompt prompt, Event& stop);
  // First come, first served; nothing if it was stopped while it waited.
  Task<std::optional<Semaphore::Permit>> turn_to_think(Event& stop);
  Task<Result<void>> write_one(Prompt prompt, Event& enough, bool first_pass_wins,
                               std::optional<IterationOutcome>& outcome);
  Task<void> pass_on_stop(Event& enough);
  std::vector<Message> as_the_model_reads_it(std::vector<Message> messages) const;
  Request request_for(const Prompt& prompt, std::string purpose, IterationId iteration) const;
  Task<Result<void>> after_failure(const IterationReport& report);
  Task<void> follow_shadow(IterationId iteration, std::unique_ptr<Generation> generation);
  Task<void> judge_new(Subject subject);
  Task<void> judge(Subject subject);
  Task<Result<void>> try_judge_new(Subject& subject);
  Task<Result<void>> try_judge(Subject subject);
  Task<Result<KnownKernel>> recall_kernel(const CandidateState& candidate);
  // task_lab_tuning.cc
  std::vector<StageSpan> since_begun(std::vector<StageSpan> spans) const;
  Candidate candidate_of(const CandidateFound& found, std::string source) const;
  Task<Result<KnownKernel>> recall_tuned(const CandidateState& candidate);
  void tune_if_best(CandidateId id, std::string source);
  Task<void> tune(CandidateId id, std::string source);
  Task<Result<void>> try_tune(CandidateId id, std::string source);
  bool is_target_reached() const;

  RunCore& core_;
  std::uint32_t number_;
  Random random_;
  Gate gate_;
  RepairPrompter repair_prompter_;
  std::vector<KnownKernel> history_;
  std::map<IterationId, Iteration*> live_;
  std::map<IterationId, CandidateId> parents_;  // of live iterations
  std::optional<Time> failing_since_;
  int failures_ = 0;     // in a row
  int begun_again_ = 0;  // iterations, in a row
  std::int64_t whole_traces_ = 0;
  std::int64_t tokens_of_whole_traces_ = 0;
  Semaphore thinkers_;
  std::map<IterationId, Semaphore::Permit> reasoning_;  // until the main generation has ended
  TaskGroup judging_;
};

}  // namespace specgen
