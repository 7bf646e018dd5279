#include "search/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/race.h"
#include "search/run_core.h"
#include "search/task_lab.h"

namespace specgen {

class Run::State {
 public:
  State(RunParts parts, RunPlan plan, RunListener listener)
      : core(parts, std::move(plan), std::move(listener)) {}

  Task<Result<void>> open() {
    CO_TRY(co_await core.open());
    // Iterations of a former process: their streams are gone.
    for (IterationId id : core.state.open_iterations()) {
      CO_TRY(core.note(to_entry(IterationEnded{.id = id, .end = IterationEnd::interrupted})));
    }
    for (std::uint32_t task = 0; task < core.state.run.tasks.size(); ++task) {
      labs.push_back(std::make_unique<TaskLab>(core, task));
      CO_TRY(co_await labs.back()->recall());
    }
    core.on_call_ended = [this](IterationId id, const CallRecord& call) {
      auto iteration = core.state.iterations.find(id);
      if (iteration != core.state.iterations.end()) {
        labs[iteration->second.begun.task]->call_ended(id, call);
      }
    };
    co_return Result<void>();
  }

  Task<Result<RunEnd>> go() {
    {
      TaskGroup clock(core.parts.loop);
      TaskGroup searching(core.parts.loop);
      clock.spawn(watch_the_clock());
      for (auto& lab : labs) searching.spawn(search(*lab));
      CO_TRY(co_await searching.join());
      for (auto& lab : labs) co_await lab->finish_judging();
    }
    if (core.failure) co_return std::unexpected(*core.failure);
    CO_TRY(co_await end());
    co_return RunEnd{core.why_stopped};
  }

  void stop(std::string why) { core.stop(std::move(why)); }

  RunCore core;
  std::vector<std::unique_ptr<TaskLab>> labs;

 private:
  Task<Result<void>> search(TaskLab& lab) {
    bool is_new = lab.history().empty() && lab.iterations_begun() == 0;
    if (is_new && !core.plan.start_source.empty()) {
      CO_TRY(co_await lab.begin_from(core.plan.start_source));
    }
    co_return co_await core.plan.workflow(lab);
  }

  Task<void> watch_the_clock() {
    Duration limit = core.state.run.budgets.wall;
    if (limit == Duration()) co_return;
    co_await core.parts.loop.sleep(std::max(Duration(), limit - core.since_begun()));
    core.stop("wall time");
  }

  // What is left is called off; every candidate ends, exactly once.
  Task<Result<void>> end() {
    if (core.why_stopped.empty()) core.why_stopped = "iterations";
    for (auto& lab : labs) lab->drop_judging();
    for (CandidateId id : core.state.open_candidates()) {
      CO_TRY(core.note(
          to_entry(CandidateJudged{.id = id, .withdrawn = true, .at = core.since_begun()})));
    }
    CO_TRY(core.note(run_ended_entry(core.why_stopped)));
    co_return co_await core.journal->flush();
  }
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::~Run() = default;

Task<Result<std::unique_ptr<Run>>> Run::open(RunParts parts, RunPlan plan, RunListener listener) {
  auto state = std::make_unique<State>(parts, std::move(plan), std::move(listener));
  CO_TRY(co_await state->open());
  co_return std::unique_ptr<Run>(new Run(std::move(state)));
}

Task<Result<RunEnd>> Run::go() {
  return state_->go();
}
void Run::stop(std::string why) {
  state_->stop(std::move(why));
}
const RunState& Run::state() const {
  return state_->core.state;
}
Duration Run::elapsed() const {
  return state_->core.since_begun();
}

}  // namespace specgen
