#include "search/run_core.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace specgen {
namespace {

// The affinity key of a call is its iteration: "i17".
IterationId iteration_of(std::string_view affinity) {
  IterationId id;
  if (affinity.starts_with(IterationTag::prefix)) {
    std::from_chars(affinity.data() + 1, affinity.data() + affinity.size(), id.value);
  }
  return id;
}

}  // namespace

RunCore::RunCore(RunParts its_parts, RunPlan its_plan, RunListener its_listener)
    : parts(its_parts),
      plan(std::move(its_plan)),
      stopping(parts.loop),
      listener(std::move(its_listener)),
      opened_(parts.loop.now()) {}

RunCore::~RunCore() {
  parts.ledger.listen({});
}

Task<Result<void>> RunCore::open() {
  auto opened = CO_TRY(co_await Journal::open(parts.loop, parts.storage));
  journal = std::move(opened.journal);
  state = CO_TRY(fold<RunState>(opened.past));
  if (state.begun()) {
    earlier_ = state.last_at;
    if (!state.candidates.empty()) last_candidate_ = state.candidates.rbegin()->first.value;
    if (!state.iterations.empty()) last_iteration_ = state.iterations.rbegin()->first.value;
    if (!state.calls.empty()) calls_before_ = state.calls.rbegin()->first;
    CO_TRY(co_await record(resumed_entry(earlier_)));
    if (plan.begin.budgets != state.run.budgets) {
      CO_TRY(co_await record(to_entry(plan.begin.budgets)));
    }
  } else {
    CO_TRY(co_await record(to_entry(plan.begin)));
  }
  criterion = CO_TRY(parse_criterion(state.run.criterion));
  parts.ledger.listen([this](const CallRecord& call) { take(call); });
  co_return Result<void>();
}

Result<std::uint64_t> RunCore::note(EntryText text) {
  Entry entry{.sequence = 0,
              .at = parts.loop.wall_now(),
              .type = std::move(text.first),
              .body = std::move(text.second)};
  auto sequence = journal->append(entry.type, entry.body);
  if (!sequence) {
    fail(sequence.error());
    return sequence;
  }
  entry.sequence = *sequence;
  TRY(state.apply(entry));
  if (listener.on_entry) listener.on_entry(entry);
  if (listener.on_change) listener.on_change(state, since_begun());
  return sequence;
}

Task<Result<void>> RunCore::record(EntryText text) {
  std::uint64_t sequence = CO_TRY(note(std::move(text)));
  auto durable = co_await journal->durable(sequence);
  if (!durable) fail(durable.error());
  co_return durable;
}

// A call is recorded when it is sent, and again with its cost. The caller does not wait for durability: a fork must be
// sent at once, and a call without a recorded end counts as charged when the run is resumed.
void RunCore::take(const CallRecord& call) {
  std::uint64_t id = calls_before_ + call.id;
  if (call.outcome == CallOutcome::under_way) {
    reserved_tokens_ += call.max_tokens;
    (void)note(to_entry(CallSent{.id = id,
                                 .iteration = iteration_of(call.affinity),
                                 .purpose = call.purpose,
                                 .max_tokens = call.max_tokens}));
    return;
  }
  reserved_tokens_ -= call.max_tokens;
  (void)note(to_entry(CallDone{.id = id,
                               .outcome = call.outcome,
                               .usage = call.usage,
                               .dollars = call.dollars,
                               .sent = since_begun(call.sent),
                               .ended = since_begun(call.ended)}));
  if (on_call_ended) on_call_ended(iteration_of(call.affinity), call);
}

bool RunCore::may_spend(std::int64_t tokens) const {
  const RunBudgets& budgets = state.run.budgets;
  const TokenTotals& spent = state.tokens;
  std::int64_t promised = reserved_tokens_ + tokens;
  if (budgets.tokens > 0) {
    std::int64_t total = spent.main + spent.forks + spent.other + spent.maybe_charged + promised;
    if (total > budgets.tokens) return false;
  }
  if (budgets.dollars > 0) {
    constexpr double kPricedTokens = 1e6;
    const Prices& prices = parts.model.info().prices;
    double dearest = std::max(prices.prompt, prices.completion) / kPricedTokens;
    double total = state.dollars + static_cast<double>(spent.maybe_charged + promised) * dearest;
    if (total > budgets.dollars) return false;
  }
  return true;
}

void RunCore::stop(std::string why) {
  if (stopping.is_set()) return;
  why_stopped = std::move(why);
  stopping.set();
}

void RunCore::fail(Error error) {
  if (!failure) failure = std::move(error);
  stop("error");
}

}  // namespace specgen
