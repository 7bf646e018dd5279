#pragma once
// One call of an OpenAiModel: a task that sends, follows the answer and queues its events, so that
// next() only takes from a queue and may be cancelled anywhere. Where a server cannot give several
// answers to one request, as many requests are sent side by side (lanes). Destroying the call closes its
// connections and writes what was paid.

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

  Task<Result<void>> begin();  // until the first request has been sent, or cannot be
  Task<Result<StreamEvent>> next() override;

 private:
  class LedgerRow;  // of one attempt: ends as cancelled unless told otherwise
  class AbortGuard;

  // What one request of the server is to bring.
  struct Lane {
    int first_choice = 0;
    int choices = 1;
    int attempt = 0;
    std::vector<ForkStrategy> strategies;  // left to try; empty: no fork
    std::vector<ForkStrategy> refused;
    Time silence_ends{};  // without a token by then it is over
    bool was_sent = false;
    Ended ended;
  };
  using Outcome = std::expected<void, AttemptFailure>;

  Task<void> run(Lane& lane);
  Task<Result<void>> answer(Lane& lane);  // all attempts
  Task<Result<WireRequest>> build(Lane& lane, const std::string& request_id);
  Task<Outcome> attempt(Lane& lane, WireRequest wire, std::string request_id);
  Task<Outcome> await_stream(HttpExchange& exchange, Lane& lane);
  Task<Outcome> follow(HttpExchange& exchange, Lane& lane, AnswerStream& stream);
  Task<std::string> beginning_of(HttpExchange& exchange, Lane& lane);
  Task<void> deliver(std::vector<StreamEvent>& events);
  AnswerOptions answer_options(const Lane& lane, const WireRequest& wire) const;
  Time deadline(const Lane& lane) const;
  AttemptFailure too_late(const Lane& lane, Time last_sign) const;
  void settle_strategies(Lane& lane, const AnswerStream& stream);

  OpenAiModel& model_;
  Loop& loop_;
  Request request_;
  Time total_ends_;
  std::vector<Lane> lanes_;
  std::size_t lanes_open_ = 0;
  std::optional<Error> unsent_;  // why nothing was sent
  Event sent_or_not_;
  Channel<Result<StreamEvent>> events_;
  TaskGroup group_;  // last: its tasks use the rest
};

}  // namespace specgen
