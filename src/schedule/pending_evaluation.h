#pragma once
// A candidate on its way through the stages (PendingEvaluation) and the callers of evaluate() that wait for its verdict
// (EvaluationWaiter). Equal candidates share one PendingEvaluation. A waiter is a local of evaluate() and ends with it.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sync.h"
#include "schedule/host_client.h"
#include "schedule/scheduler.h"

namespace specgen {

struct PendingEvaluation;

struct EvaluationWaiter {
  EvaluationWaiter(Loop& loop, const Candidate& of)
      : candidate(of.id),
        iteration(of.iteration),
        urgency(of.origin == Origin::main ? Urgency::main : Urgency::speculative),
        answered(loop) {}

  CandidateId candidate;
  IterationId iteration;
  Urgency urgency;
  bool is_over = false;  // its iteration has ended, and the settings withdraw such
  std::shared_ptr<PendingEvaluation> pending = {};
  std::optional<Result<Judged>> answer = {};
  Event answered;
};

struct PendingEvaluation {
  Candidate candidate;  // the first of the equal ones; stage events carry its id
  std::string key;
  std::uint32_t task = 0;
  std::uint32_t backend = 0;

  Stage stage = Stage::compile;
  JobId job = {};
  bool is_running = false;
  bool is_ended = false;
  bool is_tuning = false;  // it was judged before; this is tune()
  Speedup confirmed = {};  // speedup before tuning
  Values tunables = {};    // the winning values, once the sweep is over
  Time queued = {};
  std::uint32_t host = 0;  // number of the host that has the program; 0: none
  std::string program = {};
  Speedup screen = {};
  std::string evaluation = "null";  // JSON, from the stages so far
  std::size_t attempts = 0;
  Duration device_time = {};
  std::vector<StageSpan> spans = {};
  std::vector<EvaluationWaiter*> waiters = {};

  bool is_wanted() const {
    return std::ranges::any_of(waiters,
                               [](const EvaluationWaiter* each) { return !each->is_over; });
  }
  // The highest urgency of all waiters.
  Urgency urgency() const {
    Urgency highest = Urgency::demoted;
    for (const EvaluationWaiter* each : waiters) highest = std::min(highest, each->urgency);
    return highest;
  }
};

}  // namespace specgen
