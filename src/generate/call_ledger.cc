#include "generate/call_ledger.h"

#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kEvidenceKept = 4096;  // bytes; there may be thousands of cancelled calls

// The end of a text, starting at a character boundary.
std::string last_part(std::string text) {
  if (text.size() <= kEvidenceKept) return text;
  std::size_t at = text.size() - kEvidenceKept;
  while (at < text.size() && character_length(std::string_view(text).substr(at)) == 0) ++at;
  return text.substr(at);
}

}  // namespace

std::string_view to_string(CallOutcome outcome) {
  switch (outcome) {
    case CallOutcome::under_way:
      return "under_way";
    case CallOutcome::ended:
      return "ended";
    case CallOutcome::failed:
      return "failed";
    case CallOutcome::cancelled:
      return "cancelled";
  }
  SG_ASSERT(false, "an outcome without a name");
}

CallRecord call_record(const ModelInfo& model, const Request& request, Time sent) {
  CallRecord record;
  record.model = model.name;
  record.purpose = request.purpose;
  record.affinity = request.affinity;
  record.max_tokens = max_tokens(request);
  record.prices = model.prices;
  record.sent = sent;
  return record;
}

double cost_in_dollars(const Prices& prices, const Usage& usage) {
  constexpr double kPricedTokens = 1e6;
  auto cached = static_cast<double>(usage.cached_tokens);
  double fresh = static_cast<double>(usage.prompt_tokens) - cached;
  return (fresh * prices.prompt + cached * prices.cached +
          static_cast<double>(usage.completion_tokens) * prices.completion) /
         kPricedTokens;
}

std::uint64_t CallLedger::sent(CallRecord record) {
  SG_ASSERT(record.outcome == CallOutcome::under_way, "a call that is sent is under way");
  record.id = records_.size() + 1;
  records_.push_back(std::move(record));
  ++totals_.calls;
  if (listener_) listener_(records_.back());
  return records_.size();
}

void CallLedger::ended(std::uint64_t id, CallOutcome outcome, Usage usage, Time when,
                       std::string error, std::string evidence) {
  SG_ASSERT(id >= 1 && id <= records_.size(), "only what was sent can end");
  SG_ASSERT(outcome != CallOutcome::under_way, "an end is an end");
  CallRecord& record = records_[id - 1];
  SG_ASSERT(record.outcome == CallOutcome::under_way, "a call ends once");
  record.outcome = outcome;
  record.usage = usage;
  record.dollars = cost_in_dollars(record.prices, usage);
  record.ended = when;
  record.error = std::move(error);

  totals_.prompt_tokens += usage.prompt_tokens;
  totals_.cached_tokens += usage.cached_tokens;
  totals_.completion_tokens += usage.completion_tokens;
  if (usage.estimated) totals_.estimated_tokens += usage.prompt_tokens + usage.completion_tokens;
  totals_.dollars += record.dollars;

  record.evidence = std::move(evidence);
  if (listener_) listener_(record);
  record.evidence = last_part(std::move(record.evidence));
}

}  // namespace specgen
