#pragma once
// The record of calls to models and their cost: exactly one row for every attempt that was sent, whether it ended,
// failed or was cancelled. Models write the rows (a cancelled call's in the destructor of its generation); others
// read them or listen. Outlives the models. Loop thread only.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "generate/model.h"

namespace specgen {

enum class CallOutcome { under_way, ended, failed, cancelled };
std::string_view to_string(CallOutcome outcome);

struct CallRecord {
  std::uint64_t id = 0;  // 1, 2, 3, ... in the order they were sent
  std::string model;
  std::string purpose;
  std::string affinity;         // of the request
  std::int64_t max_tokens = 0;  // upper bound: estimated prompt and longest answer
  int attempt = 1;              // of the same request
  Prices prices;
  CallOutcome outcome = CallOutcome::under_way;
  Usage usage;         // of a cancelled stream: what arrived, estimated unless reported
  double dollars = 0;  // by prices and usage
  Time sent;
  Time ended;
  std::string error;  // of a failed call, without secrets
  std::string note;   // for display: what is unusual, such as an answer from a nearby cut
  // Of a failed or cancelled call: the text that had arrived. The listener gets all of it; the ledger keeps the end.
  std::string evidence;
};

// The record of a request that is about to be sent.
CallRecord call_record(const ModelInfo& model, const Request& request, Time sent);

double cost_in_dollars(const Prices& prices, const Usage& usage);

class CallLedger {
 public:
  using Listener = std::function<void(const CallRecord&)>;  // at sending and at the end

  void listen(Listener listener) { listener_ = std::move(listener); }

  std::uint64_t sent(CallRecord record);  // returns its id
  // Exactly once for each id.
  void ended(std::uint64_t id, CallOutcome outcome, Usage usage, Time when, std::string error = {},
             std::string evidence = {});

  struct Totals {
    std::int64_t calls = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;
    std::int64_t completion_tokens = 0;
    std::int64_t estimated_tokens = 0;  // of the above: not reported by a server
    double dollars = 0;
  };
  const Totals& totals() const { return totals_; }
  const std::vector<CallRecord>& records() const { return records_; }

 private:
  Listener listener_;
  Totals totals_;
  std::vector<CallRecord> records_;
};

}  // namespace specgen
