#pragma once
// An iteration of `specgen probe`: how early does a prefix of the reasoning suffice? The stream runs to its end; then a
// fork is made at every share of it. Drafts and forks are evaluated as shadows, so that they influence
// nothing; only the
// main answer counts. Optionally a control generation with the same prompt and another seed runs beside the stream.
// prefix_study.h evaluates the run.

#include <memory>
#include <string>

#include "runtime/task_group.h"
#include "search/run.h"
#include "speculate/iteration_context.h"
#include "speculate/stream_follower.h"

namespace specgen {

struct StudySettings {
  double step = 0.05;    // a fork at every such share of the stream
  bool control = false;  // and a second complete generation
};

class StudyIteration final : public AbstractIteration {
 public:
  StudyIteration(IterationContext context, IterationSetup setup, StudySettings settings);
  ~StudyIteration() override;

  Task<IterationReport> run() override;
  void add_result(const CandidateResult& result) override;

 private:
  Task<bool> follow_stream();  // false: interrupted
  Task<bool> await_results();  // the same
  void submit_drafts(std::vector<HarvestedKernel>& drafts);
  void stream_ended(const Ended& ended);
  Task<void> fork_at_shares(int worker);
  Task<void> run_control();
  void submit(FoundKernel kernel);
  void side_task_ended();

  IterationContext context_;
  IterationSetup setup_;
  StudySettings settings_;
  std::unique_ptr<Generation> stream_;
  StreamFollower follower_;
  Channel<CandidateResult> results_;
  Event side_ended_;
  TaskGroup side_tasks_;
  int side_tasks_running_ = 0;
  std::int64_t unevaluated_ = 0;
  IterationReport report_;
};

// For RunPlan::make_iteration.
IterationFactory study_iterations(StudySettings settings);

}  // namespace specgen
