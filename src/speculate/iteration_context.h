#pragma once
// What the parts of one iteration share: the task's components that it uses, its setup, and the types that go in and
// out. Plain data and two interfaces: CandidateSink takes what an iteration finds, AbstractIteration is what a driver
// runs for one prompt.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/model.h"
#include "runtime/loop.h"
#include "runtime/sync.h"
#include "schedule/job.h"
#include "speculate/gate.h"
#include "speculate/speculation_settings.h"
#include "speculate/stopping_policy.h"
#include "speculate/triggers.h"

namespace specgen {

// A kernel that was found and not evaluated yet.
struct FoundKernel {
  std::string source;
  Origin origin = Origin::main;
  std::string trigger = {};        // of a fork
  std::int64_t prefix_tokens = 0;  // of reasoning before it
  std::size_t prefix_bytes = 0;    // the same
  bool is_python = false;
  bool shadow = false;       // evaluated, and not used
  CandidateId repairs = {};  // the failed candidate
};

// What follows the main prompt so that a failed candidate is repaired.
struct RepairPrompt {
  std::vector<Message> messages;
  std::string source;  // the answer may be a diff against it
};

// Takes what an iteration finds, records it and has it evaluated. Outlives the iteration.
class CandidateSink {
 public:
  virtual ~CandidateSink() = default;
  virtual CandidateId submit(IterationId iteration, FoundKernel kernel) = 0;
  // Whether the budget has this many tokens left.
  virtual bool may_spend(std::int64_t tokens) const = 0;
  virtual PoolLoad load() const = 0;
  virtual std::optional<RepairPrompt> repair_prompt(CandidateId failed) = 0;  // nothing: no repair
};

struct IterationContext {  // all outlive the iteration
  Loop& loop;
  Model& model;
  CandidateSink& sink;
  Gate& gate;
  StoppingPolicy& stopping;
  Triggers* triggers;  // null: no forks
  Event& stop;         // set when the iteration has to end
};

struct IterationSetup {
  IterationId id;
  Request main;             // mode reason
  std::string backend;      // "cpu" or "cuda"
  std::string parent;       // source that a diff is against; may be empty
  bool wants_diff = false;  // the answer is a diff against the parent
  SpeculationSettings speculation;

  std::optional<std::string_view> parent_for_diffs() const {
    return parent.empty() ? std::nullopt : std::optional<std::string_view>(parent);
  }
};

struct IterationReport {
  IterationEnd end = IterationEnd::failed;
  CandidateId by;            // the candidate that stopped it
  std::int64_t tokens = 0;   // of the main generation, counted or estimated
  RefusalCounts refusals{};  // of triggers, by the gate
  std::string reasoning;
  std::string note = {};  // why it failed, was abandoned, or has no kernel
  // The main generation of a stopped iteration, if it is to continue as a shadow.
  std::unique_ptr<Generation> shadow = {};
};

class AbstractIteration {
 public:
  virtual ~AbstractIteration() = default;
  // Once. Destroying the task cancels the generations on the wire.
  virtual Task<IterationReport> run() = 0;
  // The owner reports every evaluated candidate of the iteration, in any order, also after run() has ended.
  virtual void add_result(const CandidateResult& result) = 0;
};

using IterationFactory =
    std::function<std::unique_ptr<AbstractIteration>(IterationContext, IterationSetup)>;

}  // namespace specgen
