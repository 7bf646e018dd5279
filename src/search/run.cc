#include "search/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/race.h"
#include "search/iteration_driver.h"
#include "search/run_core.h"

namespace specgen {

class Run::State {
 public:
  State(RunParts parts, RunPlan plan, RunListener listener)
      : core(parts, std::move(plan), std::move(listener)) {}

  Task<Result<void>> open() {
    CO_TRY(co_await core.open());
    // The streams of iterations of a former process are gone.
    for (IterationId id : core.state.open_iterations()) {
      CO_TRY(core.note(to_entry(IterationEnded{.id = id, .end = IterationEnd::interrupted})));
    }
    for (std::uint32_t task = 0; task < core.state.run.tasks.size(); ++task) {
      drivers.push_back(std::make_unique<IterationDriver>(core, task));
      CO_TRY(co_await drivers.back()->recall());
    }
    core.on_call_ended = [this](IterationId id, const CallRecord& call) {
      auto iteration = core.state.iterations.find(id);
      if (iteration != core.state.iterations.end()) {
        drivers[iteration->second.begun.task]->call_ended(id, call);
      }
    };
    co_return Result<void>();
  }

  Task<Result<RunEnd>> go() {
    {
      TaskGroup clock(core.parts.loop);
      TaskGroup searching(core.parts.loop);
      clock.spawn(watch_the_clock());
      for (auto& driver : drivers) searching.spawn(search(*driver));
      CO_TRY(co_await searching.join());
      for (auto& driver : drivers) co_await driver->finish_evaluating();
    }
    if (core.failure) co_return std::unexpected(*core.failure);
    CO_TRY(co_await end());
    co_return RunEnd{core.why_stopped};
  }

  void stop(std::string why) { core.stop(std::move(why)); }

  RunCore core;
  std::vector<std::unique_ptr<IterationDriver>> drivers;

 private:
  Task<Result<void>> search(IterationDriver& driver) {
    bool is_new = driver.history().empty() && driver.iterations_begun() == 0;
    if (is_new && !core.plan.start_source.empty()) {
      CO_TRY(co_await driver.begin_from(core.plan.start_source));
    }
    co_return co_await core.plan.workflow(driver);
  }

  Task<void> watch_the_clock() {
    Duration limit = core.state.run.budgets.wall;
    if (limit == Duration()) co_return;
    co_await core.parts.loop.sleep(std::max(Duration(), limit - core.since_begun()));
    core.stop("wall time");
  }

  // Remaining candidates are withdrawn: every candidate ends exactly once.
  Task<Result<void>> end() {
    if (core.why_stopped.empty()) core.why_stopped = "iterations";
    for (auto& driver : drivers) driver->cancel_evaluating();
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
