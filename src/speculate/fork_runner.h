#pragma once
// Makes forks: at a trigger that the gate allows, a non-reasoning generation answers from the reasoning so far. A
// trigger that the gate refuses for a temporary reason waits; the latest one is tried again as the reasoning continues.
// Kernels are reported as they are written. A fork that fails costs its tokens and nothing else.

#include <functional>
#include <optional>
#include <string>

#include "speculate/iteration_context.h"
#include "speculate/side_generations.h"
#include "speculate/stream_follower.h"

namespace specgen {

// A request that continues from `prefix` with the answer.
Request fork_request(const IterationSetup& setup, ReasoningPrefix prefix);
// The kernel in a fork's answer; `prefix_bytes` of reasoning were before it.
std::optional<FoundKernel> kernel_of_fork(const IterationSetup& setup, const Answer& answer,
                                          std::string trigger, std::size_t prefix_bytes,
                                          const StreamFollower& stream);

class ForkRunner {
 public:
  using OnKernel = std::function<void(FoundKernel)>;
  // All references outlive the runner; `on_kernel` is called while the generations run.
  ForkRunner(const IterationContext& context, const IterationSetup& setup,
             const StreamFollower& stream, SideGenerations& generations, OnKernel on_kernel);

  // A draft that ends at this offset: a fork right behind it would repeat it.
  void add_draft(std::size_t end);
  // A draft that was found before: what a fork would write now is known.
  void add_repeated_draft();
  void consider(const Trigger& trigger);
  void reconsider_waiting();  // the trigger that was refused for a temporary reason

  const RefusalCounts& refusals() const { return refusals_; }

 private:
  GateView view_of(const Trigger& trigger) const;
  void fork_at(const Trigger& trigger);

  const IterationContext& context_;
  const IterationSetup& setup_;
  const StreamFollower& stream_;
  SideGenerations& generations_;
  OnKernel on_kernel_;
  std::optional<Trigger> waiting_;
  std::size_t last_offset_ = 0;  // in the reasoning, of the last fork or draft
  int forks_ = 0;
  RefusalCounts refusals_{};
};

}  // namespace specgen
