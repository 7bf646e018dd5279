#pragma once
// One call of a VirtualModel: a task that sends the request, retries, and then writes part by part into a queue, so
// that next() may be cancelled at any point. Destroying the call closes its stream and records what was used.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/prompt_context.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "simulate/virtual_model.h"

namespace specgen {

class VirtualCall final : public Generation {
 public:
  VirtualCall(VirtualModel& model, Request request, Random random);
  ~VirtualCall() override;

  Task<Result<void>> begin();  // until the first request is sent or has failed
  Task<Result<StreamEvent>> next() override;

 private:
  class LedgerRow;
  // The response, drawn before the first attempt: all attempts give the same one.
  struct Plan {
    std::unique_ptr<VirtualTraceWriter> trace = nullptr;  // the reasoning; null: none
    std::vector<std::string> contents = {};               // by choice
    std::int64_t content_tokens = 0;
    FinishReason reason = FinishReason::stop;
  };
  struct Failure {
    Error error;
    bool worth_retrying = false;
    bool throttled = false;
    bool server_is_ill = false;
  };
  using Outcome = std::expected<void, Failure>;

  Plan plan_main();
  Plan plan_fork();
  Plan plan_advice(const PromptContext& context);
  std::string answer_with(KernelTruth truth);
  std::int64_t prompt_tokens() const;

  Task<void> run();
  Task<Result<void>> answer();
  Task<Outcome> attempt(int number);
  Task<Outcome> stream(LedgerRow& row);
  Task<Outcome> write(std::int64_t tokens, LedgerRow& row);  // waits for the writing time
  Task<void> deliver(DeltaKind kind, std::string text, int choice);
  void draw_fault(std::int64_t all_tokens);

  VirtualModel& model_;
  Loop& loop_;
  Request request_;
  Random random_;
  Plan plan_;
  std::optional<Fault> fault_;    // that will affect this call
  std::int64_t fault_after_ = 0;  // tokens
  Time total_ends_;
  bool delivered_ = false;
  std::optional<Error> unsent_;
  bool was_sent_ = false;
  Event sent_or_not_;
  Channel<Result<StreamEvent>> events_;
  TaskGroup group_;  // last: its task uses the members above
};

}  // namespace specgen
