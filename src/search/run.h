#pragma once
// One `specgen optimize`: tasks, a workflow for each, a model, a pool of devices, budgets and a journal. Its
// state is the
// RunState that the journal's entries fold to; every entry is recorded before it counts.
//
//   auto run = CO_TRY(co_await Run::open(parts, plan));      // a new run if the journal is empty, else a resumed one
//   RunEnd end = CO_TRY(co_await run->go());
//
// Destroying it, or the task of go(), is a crash as far as the journal is concerned: open it again to resume.

#include <functional>
#include <memory>
#include <string>

#include "generate/call_ledger.h"
#include "generate/model.h"
#include "journal/journal.h"
#include "journal/storage.h"
#include "schedule/evaluation_pool.h"
#include "search/run_state.h"
#include "search/workflow.h"
#include "speculate/iteration.h"
#include "speculate/speculation_settings.h"
#include "speculate/triggers.h"

namespace specgen {

using Workflow = std::function<Task<Result<void>>(WorkflowContext&)>;

struct RunPlan {
  RunBegun begin;     // of a new run; a resumed run takes only the budgets from it
  Workflow workflow;  // for each task
  SpeculationSettings speculation = {};
  IterationFactory make_iteration = new_iteration;  // what runs one iteration
  std::int64_t max_tokens = 32'768;                 // of a generation
  std::string start_source = {};                    // a kernel that every task begins from
  Values shapes = {};                               // constants of Python files, replaced
  bool model_new = false;                           // candidates are Python with a class ModelNew
  int max_streams = 0;  // reasoning at once, per task, advice included; 0: no limit
  bool tune = true;     // sweep the tunables of the best candidate on idle devices
  // The run ends when the model has failed for this long without an answer.
  Duration patience = std::chrono::minutes(30);
};

struct RunParts {  // all outlive the run
  Loop& loop;
  Storage& storage;
  Model& model;
  CallLedger& ledger;  // the model's
  EvaluationPool& pool;
  Triggers* triggers = nullptr;  // none: no forks
};

// Called as entries are applied to the state: for checks and progress displays.
struct RunListener {
  std::function<void(const Entry&)> on_entry;
  std::function<void(const RunState&, Duration now)>
      on_change;  // after each; `now`: since the run began
  std::function<void(std::uint32_t task, const KnownKernel& best)> on_best;  // a new one
};

struct RunEnd {
  std::string why;  // "iterations", "wall time", "budget", "interrupted", or the model's failure
};

class Run {
 public:
  static Task<Result<std::unique_ptr<Run>>> open(RunParts parts, RunPlan plan,
                                                 RunListener listener = {});
  ~Run();

  Task<Result<RunEnd>> go();
  // Ends the run soon and in order: main generations are cancelled, evaluated candidates are kept.
  void stop(std::string why);

  const RunState& state() const;
  Duration elapsed() const;  // since the run began, without the time when no process ran it

 private:
  class State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace specgen
