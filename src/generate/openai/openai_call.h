#pragma once
// One call of an OpenAiModel. A task of the call sends the request, follows the answer and queues its events, so
// that next() only takes from a queue and is cancel-safe. If the server cannot return several answers to one
// request, one request per answer is sent, all concurrently (ServerRequest). Destroying the call closes its
// connections and records their cost. Owned by the caller of Model::start(); the model outlives it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/openai/answer_stream.h"
#include "generate/openai/openai_model.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {

class OpenAiCall final : public Generation {
 public:
  OpenAiCall(OpenAiModel& model, Request request);
  ~OpenAiCall() override;

  Task<Result<void>>
  begin();  // returns when the first request was sent, or with why it could not be
  Task<Result<StreamEvent>> next() override;

 private:
  class LedgerRow;  // of one attempt: ends as cancelled unless its end is recorded
  class AbortGuard;

  // One request to the server and its retries.
  struct ServerRequest {
    int first_choice = 0;
    int choices = 1;
    int attempt = 0;
    std::vector<ForkStrategy> strategies;  // left to try; empty: no fork
    std::vector<ForkStrategy> refused;
    Time silence_ends{};  // fails if no token arrives before
    bool was_sent = false;
    Ended ended;
  };
  using Outcome = std::expected<void, AttemptFailure>;

  Task<void> run(ServerRequest& part);
  Task<Result<void>> answer(ServerRequest& part);  // all attempts
  Task<Result<WireRequest>> build(ServerRequest& part, const std::string& request_id);
  Task<Outcome> attempt(ServerRequest& part, WireRequest wire, std::string request_id);
  Task<Outcome> await_stream(HttpExchange& exchange, ServerRequest& part);
  Task<Outcome> follow(HttpExchange& exchange, ServerRequest& part, AnswerStream& stream);
  Task<std::string> beginning_of(HttpExchange& exchange, ServerRequest& part);
  Task<void> deliver(std::vector<StreamEvent>& events);
  AnswerOptions answer_options(const ServerRequest& part, const WireRequest& wire) const;
  Time deadline(const ServerRequest& part) const;
  AttemptFailure too_late(const ServerRequest& part, Time last_data) const;
  void record_strategies(ServerRequest& part, const AnswerStream& stream);

  OpenAiModel& model_;
  Loop& loop_;
  Request request_;
  Time total_ends_;
  std::vector<ServerRequest> parts_;
  std::size_t parts_open_ = 0;
  std::optional<Error> unsent_;  // why nothing was sent
  Event sent_or_not_;
  Channel<Result<StreamEvent>> events_;
  TaskGroup group_;  // last: its tasks use the other members
};

}  // namespace specgen
