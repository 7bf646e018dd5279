#pragma once
// What the parts of a run share: the journal and the state that its entries fold to, ids for new iterations and
// candidates, the run's clock, its budgets, and the request to stop. Private to this module.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "journal/journal.h"
#include "runtime/sync.h"
#include "search/run.h"

namespace specgen {

class RunCore {
 public:
  RunCore(RunParts its_parts, RunPlan its_plan, RunListener its_listener);
  ~RunCore();

  // Reads the journal; a new run gets its first entry, any other is marked as resumed.
  Task<Result<void>> open();

  // Appends an entry to the journal and applies it. It is durable some milliseconds later.
  Result<std::uint64_t> note(EntryText text);
  Task<Result<void>> record(EntryText text);  // until it is durable

  // Since the run began, without the time between two processes.
  Duration since_begun() const { return earlier_ + (parts.loop.now() - opened_); }
  Duration since_begun(Time when) const { return earlier_ + (when - opened_); }

  bool may_spend(std::int64_t tokens) const;
  bool is_spent() const { return !may_spend(1); }

  void stop(std::string why);
  void fail(Error error);  // the run cannot continue: a full disk, no device left

  CandidateId next_candidate() { return {++last_candidate_}; }
  IterationId next_iteration() { return {++last_iteration_}; }

  RunParts parts;
  RunPlan plan;
  Criterion criterion;
  RunState state;
  std::unique_ptr<Journal> journal;
  Event stopping;
  std::string why_stopped;
  std::optional<Error> failure;

  RunListener listener;
  std::function<void(IterationId, const CallRecord&)> on_call_ended;

 private:
  void take(const CallRecord& call);

  Time opened_;
  Duration earlier_{};
  std::uint64_t last_candidate_ = 0;
  std::uint64_t last_iteration_ = 0;
  std::uint64_t calls_before_ = 0;  // the last call id of former processes
  std::int64_t reserved_tokens_ = 0;
};

}  // namespace specgen
