#pragma once
// For tests of iterations and their parts: a model that follows a script, and a sink that evaluates candidates by a
// number in their source. Time is virtual.

#include <fmt/core.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/task_group.h"
#include "runtime/testing.h"
#include "speculate/iteration_context.h"

namespace specgen {

inline std::string kernel(int number) {
  return "extern \"C\" void k(const float* x, float* y, long n, void*, int, int) {\n  y[0] = " +
         std::to_string(number) + " * x[0];\n}\n";
}
inline std::string fenced(int number) {
  return "```cpp\n" + kernel(number) + "```\n";
}
// A diff that turns kernel(from) into kernel(to).
inline std::string diff(int from, int to) {
  return fmt::format(
      "<<<<<<< SEARCH\n  y[0] = {} * x[0];\n=======\n  y[0] = {} * x[0];\n>>>>>>> REPLACE\n", from,
      to);
}

struct ScriptedDelta {
  Duration after{};  // since the one before
  DeltaKind kind = DeltaKind::reasoning;
  std::string text = {};
};

class ScriptedModel final : public Model {
 public:
  explicit ScriptedModel(Loop& loop) : loop_(loop) {}

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override {
    requests.push_back(request);
    if (refuses) co_return fail(ErrorCode::endpoint_unreachable, "no server");
    bool is_main = request.mode == Mode::reason;
    bool is_repair = !is_main && !request.prefix;
    co_return std::make_unique<Stream>(*this, is_repair ? repair : is_main ? main : fork, is_main);
  }

  std::vector<ScriptedDelta> main, fork, repair;
  bool refuses = false;
  bool breaks = false;  // the main stream fails at its end
  std::vector<Request> requests;
  Log log;  // which streams ended and which were cancelled

 private:
  class Stream final : public Generation {
   public:
    Stream(ScriptedModel& model, const std::vector<ScriptedDelta>& script, bool is_main)
        : model_(model), script_(script.begin(), script.end()), is_main_(is_main) {}
    ~Stream() override {
      model_.log.push_back(std::string(is_main_ ? "main" : "fork") +
                           (ended_ ? " ended" : " cancelled"));
    }
    Task<Result<StreamEvent>> next() override {
      if (script_.empty()) {
        ended_ = true;
        if (model_.breaks && is_main_) co_return fail(ErrorCode::stream_broken, "cut");
        co_return Ended{.reasons = {FinishReason::stop}, .usage = {.completion_tokens = 77}};
      }
      co_await model_.loop_.sleep(script_.front().after);
      ScriptedDelta delta = std::move(script_.front());
      script_.pop_front();
      co_return Delta{.kind = delta.kind, .text = std::move(delta.text), .token_ids = {}};
    }

   private:
    ScriptedModel& model_;
    std::deque<ScriptedDelta> script_;
    bool is_main_;
    bool ended_ = false;
  };

  Loop& loop_;
  ModelInfo info_{.name = "scripted", .prices = {}};
};

// The sink, and everything else that an iteration or one of its parts needs.
class IterationFixture : public CandidateSink {
 protected:
  IterationFixture()
      : model(runtime.loop),
        gate({.first_after_tokens = 0}),
        stop(runtime.loop),
        evaluating(runtime.loop) {
    TriggerSet set;
    TriggerPattern& decided = set.patterns.emplace_back();
    decided.name = "decided";
    decided.regex = "I decide";
    triggers = Triggers::compile(std::move(set)).value();
    set_stopping({});
  }

  CandidateId submit(IterationId, FoundKernel kernel) override {
    CandidateId id{++last_id};
    submitted.push_back(kernel);
    evaluating.spawn(evaluate(id, std::move(kernel)));
    return id;
  }
  bool may_spend(std::int64_t) const override { return has_budget; }
  PoolLoad load() const override { return pool_load; }
  std::optional<RepairPrompt> repair_prompt(CandidateId failed) override {
    if (!repairs) return std::nullopt;
    return RepairPrompt{.messages = {{Speaker::assistant, fmt::format("kernel {}", failed.value)},
                                     {Speaker::user, "repair it"}},
                        .source = submitted.at(failed.value - 1).source};
  }

  // The result of evaluating a kernel, by its number.
  struct Evaluated {
    Duration takes = std::chrono::seconds(1);
    bool has_feedback = true;
    bool meets_criterion = false;
    bool failed = false;
    bool is_first = false;
    bool repeated = false;
  };
  Task<void> evaluate(CandidateId id, FoundKernel kernel) {
    std::size_t at = kernel.source.find("y[0] = ") + 7;
    Evaluated result = results[std::stoi(kernel.source.substr(at))];
    co_await runtime.loop.sleep(result.takes);
    if (!iteration) co_return;
    iteration->add_result({.id = id,
                           .origin = kernel.origin,
                           .prefix_bytes = kernel.prefix_bytes,
                           .has_feedback = result.has_feedback,
                           .meets_criterion = result.meets_criterion,
                           .is_first = result.is_first,
                           .failed = result.failed,
                           .repeated = result.repeated,
                           .is_repair = kernel.repairs.value != 0});
  }

  void set_stopping(StoppingSettings stopping_settings) {
    stopping =
        std::make_unique<StoppingPolicy>(stopping_settings, Criterion{}, totals.task, totals.run);
  }
  IterationContext context() {
    return {.loop = runtime.loop,
            .model = model,
            .sink = *this,
            .gate = gate,
            .stopping = *stopping,
            .triggers = triggers.get(),
            .stop = stop};
  }
  IterationSetup setup() const {
    Request main;
    main.messages = {{Speaker::user, "write"}};
    main.purpose = "main";
    main.affinity = "i1";
    return {.id = {1},
            .main = main,
            .backend = "cpu",
            .parent = parent,
            .wants_diff = !parent.empty(),
            .speculation = settings};
  }
  IterationReport run(AbstractIteration& here) {
    iteration = &here;
    IterationReport report = runtime.loop.run(here.run());
    iteration = nullptr;
    took = runtime.loop.now() - Time();
    return report;
  }

  VirtualRuntime runtime;
  ScriptedModel model;
  Gate gate;
  struct {
    ReasoningTotals task, run;
  } totals;
  std::unique_ptr<StoppingPolicy> stopping;
  Event stop;
  std::unique_ptr<Triggers> triggers;
  SpeculationSettings settings;
  std::map<int, Evaluated> results;
  bool has_budget = true;
  bool repairs = false;
  PoolLoad pool_load{.devices = 1, .idle_devices = 1};
  std::string parent;
  std::vector<FoundKernel> submitted;
  AbstractIteration* iteration = nullptr;
  Duration took{};
  std::uint64_t last_id = 0;
  TaskGroup evaluating;
};

}  // namespace specgen
