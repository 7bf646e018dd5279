#pragma once
// Repairs: a candidate that failed is corrected at once by a non-reasoning generation that knows the failure, while the
// reasoning continues. Only failures that can still matter are repaired, each once.

#include <functional>
#include <optional>

#include "speculate/iteration_context.h"
#include "speculate/side_generations.h"
#include "speculate/stream_follower.h"

namespace specgen {

class RepairRunner {
 public:
  using OnRepaired = std::function<void(std::optional<FoundKernel>)>;  // nothing: no kernel
  // All references outlive the runner; `on_repaired` is called while the generations run.
  RepairRunner(const IterationContext& context, const IterationSetup& setup,
               const StreamFollower& stream, SideGenerations& generations, OnRepaired on_repaired);

  // Starts a repair of a failed candidate if it is worth one; false: there is none.
  bool start(const CandidateResult& failed, const IterationProgress& progress);

 private:
  bool is_worth_repairing(const CandidateResult& failed, const IterationProgress& progress) const;

  const IterationContext& context_;
  const IterationSetup& setup_;
  const StreamFollower& stream_;
  SideGenerations& generations_;
  OnRepaired on_repaired_;
  int repairs_ = 0;
};

}  // namespace specgen
