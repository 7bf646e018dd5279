#pragma once
// One iteration: a main generation reasons, and what it says is used while it continues. Complete kernels in the
// reasoning (drafts) are harvested; at triggers a fork answers from the reasoning so far; a candidate that fails may be
// repaired at once. All kernels go to the sink, which has them evaluated. When the stopping policy says so, the main
// generation and all forks and repairs are cancelled on the wire.
//
//   Iteration iteration(context, std::move(setup));
//   IterationReport report = co_await iteration.run();
//
// The parts: StreamFollower (drafts, triggers), ForkRunner, RepairRunner, StoppingPolicy; iteration.cc connects them.
// Candidates outlive the iteration: the sink owns them. Runs on the loop's thread.

#include <memory>
#include <optional>

#include "speculate/fork_runner.h"
#include "speculate/iteration_context.h"
#include "speculate/repair_runner.h"
#include "speculate/side_generations.h"
#include "speculate/stream_follower.h"

namespace specgen {

class Iteration final : public AbstractIteration {
 public:
  Iteration(IterationContext context, IterationSetup setup);
  ~Iteration() override;

  Task<IterationReport> run() override;
  void add_result(const CandidateResult& result) override;

 private:
  Task<void> start_stream();
  void take_stream_event(Result<StreamEvent> event);
  void follow(const Delta& delta);
  void stream_ended(const Ended& ended);
  void stream_failed(const Error& error);
  std::optional<Stop> take_result(const CandidateResult& result);
  void submit_draft(HarvestedKernel draft);
  void submit_waiting_draft();
  CandidateId submit(FoundKernel kernel);
  bool is_settled() const;
  void end_with(Stop stop);
  IterationReport finished_report();

  IterationContext context_;
  IterationSetup setup_;
  std::unique_ptr<Generation> stream_;  // null before it starts and after it has ended
  StreamFollower follower_;
  SideGenerations side_generations_;
  ForkRunner forks_;
  RepairRunner repairs_;
  Channel<CandidateResult> results_;
  IterationProgress progress_;
  struct Pending {
    std::int64_t results = 0;          // candidates submitted and not evaluated
    CandidateId answer;                // the candidate of the main answer, while not evaluated
    std::optional<FoundKernel> draft;  // waits for a device; a later draft replaces it
    bool has_submitted_draft = false;
  } pending_;
  bool is_over_ = false;
  IterationReport report_;
};

// The usual IterationFactory.
std::unique_ptr<AbstractIteration> new_iteration(IterationContext context, IterationSetup setup);

}  // namespace specgen
