#pragma once
// For the tests of workflows: a context that writes down what it is asked, and whose kernels follow a script.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing.h"
#include "search/workflows.h"

namespace specgen {

struct ScriptedKernel {
  double speedup = 0;  // 0: it is wrong
  Origin origin = Origin::main;
};
using ScriptedIteration = std::vector<ScriptedKernel>;  // empty: the model writes no kernel

inline KnownKernel scripted_kernel(std::uint64_t id, std::uint64_t iteration, double speedup,
                                   CandidateId parent = {}) {
  KnownKernel kernel;
  kernel.id = {id};
  kernel.iteration = {iteration};
  kernel.parent = parent;
  kernel.source = "int source_" + std::to_string(id) + ";" + std::string(id % 7, ' ');
  kernel.verdict = speedup > 0 ? Verdict::ok : Verdict::wrong;
  kernel.profiled = speedup > 0;
  kernel.speedup = {speedup, speedup, speedup};
  kernel.feedback = "feedback " + std::to_string(id);
  kernel.profile = speedup > 0 ? R"({"text":"memory binds"})" : "null";
  return kernel;
}

class ScriptedContext final : public WorkflowContext {
 public:
  // What comes after the script is a copy of its last iteration.
  ScriptedContext(Loop& loop, std::vector<ScriptedIteration> script, std::int64_t iterations)
      : most(iterations), loop_(loop), script_(std::move(script)) {}

  // Of a former process.
  void remember(KnownKernel kernel) {
    last_ = std::max(last_, kernel.id.value);
    last_iteration_ = std::max(last_iteration_, kernel.iteration.value);
    history_.push_back(std::move(kernel));
  }

  const RunTask& task() const override { return task_; }
  std::uint32_t task_number() const override { return 0; }
  const std::vector<KnownKernel>& history() const override { return history_; }
  std::int64_t iterations_begun() const override { return begun_; }
  bool may_continue() const override { return begun_ < most; }
  Random& random() override { return random_; }

  Task<Result<IterationOutcome>> write_kernel(Prompt prompt) override {
    note(prompt);
    ++begun_;
    IterationOutcome outcome;
    outcome.id = {++last_iteration_};
    ScriptedIteration found = script_.front();
    if (script_.size() > 1) script_.erase(script_.begin());
    co_await loop_.yield();
    for (const ScriptedKernel& each : found) {
      KnownKernel kernel = scripted_kernel(++last_, outcome.id.value, each.speedup, prompt.parent);
      kernel.origin = each.origin;
      history_.push_back(kernel);
      outcome.kernels.push_back(kernel);
    }
    outcome.end = found.empty() ? IterationEnd::no_kernel : IterationEnd::answered;
    co_return outcome;
  }

  Task<Result<std::string>> advise(Prompt prompt) override {
    note(prompt);
    co_await loop_.yield();
    if (stops_while_advising) most = begun_;
    co_return advice;
  }

  Task<Result<std::vector<IterationOutcome>>> write_kernels(std::vector<Prompt> prompts_of_all,
                                                            bool first_pass_wins) override {
    std::vector<IterationOutcome> outcomes(prompts_of_all.size());
    bool over = false;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      outcomes[i].end = IterationEnd::interrupted;
      if (over || !may_continue()) continue;
      outcomes[i] = CO_TRY(co_await write_kernel(std::move(prompts_of_all[i])));
      over = first_pass_wins && outcomes[i].best() != nullptr;
    }
    co_return outcomes;
  }

  void repair_with(RepairPrompter prompter) override { repair_prompter = std::move(prompter); }
  Task<Result<void>> side_by_side(std::vector<Task<Result<void>>> workers) override {
    TaskGroup group(loop_);
    for (auto& worker : workers) group.spawn(std::move(worker));
    co_return co_await group.join();
  }

  RepairPrompter repair_prompter;
  std::int64_t most;
  bool stops_while_advising = false;
  std::string advice = "widen it";
  std::vector<std::string> calls;  // "repair c3": role and parent
  std::vector<Prompt> prompts;

 private:
  void note(const Prompt& prompt) {
    calls.push_back(prompt.context.role + " " + to_string(prompt.parent));
    prompts.push_back(prompt);
  }

  Loop& loop_;
  std::vector<ScriptedIteration> script_;
  RunTask task_{"softmax", "tasks/softmax", "cpu"};
  std::vector<KnownKernel> history_;
  std::int64_t begun_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t last_iteration_ = 0;
  Random random_{7};
};

// The environment of a workflow: a fixture, prompts and a brief.
struct WorkflowFixture {
  using Calls = std::vector<std::string>;

  void run(std::string_view name, ScriptedContext& context) {
    auto workflow =
        find_workflow(name, {.prompts = prompts, .briefs = briefs, .evolution = evolution});
    SG_ASSERT(workflow.has_value(), "the workflow is there");
    auto ended = fixture.loop.run((*workflow)(context));
    SG_ASSERT(ended.has_value(), "nothing fails in a scripted context");
  }

  VirtualRuntime fixture;
  PromptStore prompts = PromptStore::load({SPECGEN_SOURCE_DIR "/prompts"}).value();
  std::vector<TaskBrief> briefs{{.title = "softmax",
                                 .backend = "cpu",
                                 .description = "the softmax of rows",
                                 .baseline = "the baseline"}};
  EvolutionSettings evolution;
};

}  // namespace specgen
