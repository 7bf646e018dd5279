#pragma once
// The non-reasoning generations of one iteration, forks and repairs: runs them beside the main generation, counts those
// in flight and cancels them together. Owned by the iteration; destroying it cancels them on the wire.

#include <functional>

#include "generate/model.h"
#include "runtime/loop.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "speculate/iteration_context.h"

namespace specgen {

inline constexpr std::int64_t kUsualAnswerTokens = 1500;  // of a fork or a repair, for budgets

// The main request, answered without reasoning and after the main generations.
Request side_request(const IterationSetup& setup);

class SideGenerations {
 public:
  SideGenerations(Loop& loop, Model& model) : model_(model), group_(loop), ended_(loop) {}

  // `done` gets the answer, or null if the model failed; not called if the generation is cancelled.
  void start(Request request, std::function<void(const Answer*)> done);
  void cancel() { group_.cancel(); }
  int in_flight() const { return in_flight_; }
  // Until the next generation ends.
  Event::Wait next_end();

 private:
  Task<void> run(Request request, std::function<void(const Answer*)> done);

  Model& model_;
  TaskGroup group_;
  Event ended_;
  int in_flight_ = 0;
};

}  // namespace specgen
