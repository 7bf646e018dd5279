#pragma once
// Runs the iterations of one task: turns the workflow's prompts into iterations, limits how many streams
// reason at once,
// pauses after model failures and restarts abandoned streams. Candidates go down to the CandidateStore; their results
// come up and are passed to the gate, the stopping policy and the iteration. Private to this module.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "search/candidate_store.h"
#include "search/run_core.h"
#include "search/workflow.h"
#include "speculate/iteration_context.h"

namespace specgen {

class IterationDriver final : public WorkflowContext, private CandidateSink {
 public:
  IterationDriver(RunCore& core, std::uint32_t task);
  ~IterationDriver() override;

  // Restores what a former process knew.
  Task<Result<void>> recall() { return store_.recall(); }
  // Evaluates the user's own kernel, before the search begins.
  Task<Result<void>> begin_from(std::string source);
  // Until nothing of this task is being evaluated, or the run is stopped.
  Task<void> finish_evaluating();
  void cancel_evaluating();
  void call_ended(IterationId iteration, const CallRecord& call);  // of one of its iterations

  const RunTask& task() const override;
  std::uint32_t task_number() const override { return number_; }
  const std::vector<KnownKernel>& history() const override { return store_.history(); }
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
  // CandidateSink, for iterations
  CandidateId submit(IterationId iteration, FoundKernel kernel) override;
  bool may_spend(std::int64_t tokens) const override { return core_.may_spend(tokens); }
  PoolLoad load() const override { return core_.parts.pool.load(); }
  std::optional<RepairPrompt> repair_prompt(CandidateId failed) override;

  Task<Result<IterationOutcome>> iterate(Prompt prompt, Event& stop);
  std::unique_ptr<AbstractIteration> make_iteration(IterationId id, Request request,
                                                    const Prompt& prompt, Event& stop);
  Task<Result<void>> record_end(IterationId id, IterationReport& report);
  IterationOutcome outcome_of(IterationId id, IterationReport report,
                              std::size_t known_before) const;
  // First come, first served; nothing if `stop` was set while it waited.
  Task<std::optional<Semaphore::Permit>> acquire_stream(Event& stop);
  Task<Result<void>> write_one(Prompt prompt, Event& stop, bool first_pass_wins,
                               std::optional<IterationOutcome>& outcome);
  Task<void> pass_on_stop(Event& stop);
  Task<void> pause_after_failure(const IterationReport& report);
  Task<void> follow_shadow(IterationId iteration, std::unique_ptr<Generation> generation);
  Task<void> join();
  void take_evaluated(const EvaluatedCandidate& evaluated);
  std::vector<Message> as_the_model_reads_it(std::vector<Message> messages) const;
  Request request_for(const Prompt& prompt, std::string purpose, IterationId iteration) const;
  bool has_reached_target() const;

  struct LiveIteration {
    AbstractIteration* iteration = nullptr;
    CandidateId parent;
    std::optional<Semaphore::Permit> stream;  // until the main generation has ended
  };
  struct ModelFailures {
    int in_a_row = 0;
    std::optional<Time> since;
  };
  struct CompleteStreams {  // that ran to their end, to estimate what early stops save
    std::int64_t count = 0;
    std::int64_t tokens = 0;
  };

  RunCore& core_;
  std::uint32_t number_;
  Random random_;
  Gate gate_;
  StoppingPolicy stopping_;
  RepairPrompter repair_prompter_;
  Semaphore streams_;
  std::map<IterationId, LiveIteration> live_;
  ModelFailures model_failures_;
  CompleteStreams complete_streams_;
  CandidateStore store_;
  TaskGroup shadows_;
};

}  // namespace specgen
