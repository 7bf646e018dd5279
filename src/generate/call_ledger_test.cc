#include "generate/call_ledger.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using namespace std::chrono_literals;

CallRecord call(std::string purpose) {
  CallRecord record;
  record.model = "m";
  record.purpose = std::move(purpose);
  record.prices = {.prompt = 1.0, .cached = 0.25, .completion = 4.0};
  record.sent = Time(1s);
  return record;
}

Usage used(std::int64_t prompt, std::int64_t cached, std::int64_t completion) {
  Usage usage;
  usage.prompt_tokens = prompt;
  usage.cached_tokens = cached;
  usage.completion_tokens = completion;
  return usage;
}

TEST(CallLedger, a_call_counts_when_it_is_sent_and_is_charged_when_it_ends) {
  CallLedger ledger;
  std::uint64_t main = ledger.sent(call("main"));
  std::uint64_t fork = ledger.sent(call("fork"));
  EXPECT_EQ(main, 1U);
  EXPECT_EQ(fork, 2U);
  EXPECT_EQ(ledger.totals().calls, 2);
  EXPECT_EQ(ledger.totals().dollars, 0);
  ledger.ended(fork, CallOutcome::ended, used(1000, 800, 500), Time(3s));
  EXPECT_DOUBLE_EQ(ledger.totals().dollars, (200 * 1.0 + 800 * 0.25 + 500 * 4.0) / 1e6);
  EXPECT_EQ(ledger.totals().prompt_tokens, 1000);
  EXPECT_EQ(ledger.totals().cached_tokens, 800);
  EXPECT_EQ(ledger.totals().completion_tokens, 500);
  EXPECT_EQ(ledger.records()[0].outcome, CallOutcome::under_way);
  EXPECT_EQ(ledger.records()[1].outcome, CallOutcome::ended);
  EXPECT_EQ(ledger.records()[1].ended, Time(3s));
}

TEST(CallLedger, estimates_are_counted_separately) {
  CallLedger ledger;
  ledger.ended(ledger.sent(call("main")), CallOutcome::ended, used(10, 0, 20), Time(2s));
  Usage guessed = used(100, 0, 7);
  guessed.estimated = true;
  ledger.ended(ledger.sent(call("fork")), CallOutcome::cancelled, guessed, Time(2s));
  EXPECT_EQ(ledger.totals().prompt_tokens, 110);
  EXPECT_EQ(ledger.totals().estimated_tokens, 107);
}

TEST(CallLedger, the_listener_is_called_when_a_call_is_sent_and_when_it_ends) {
  CallLedger ledger;
  std::vector<std::pair<std::uint64_t, CallOutcome>> heard;
  std::size_t evidence = 0;
  ledger.listen([&](const CallRecord& record) {
    heard.emplace_back(record.id, record.outcome);
    evidence = record.evidence.size();
  });
  std::uint64_t id = ledger.sent(call("main"));
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\xC3\xA4";
  text += "end";
  ledger.ended(id, CallOutcome::failed, {}, Time(2s), "reset by peer", text);
  using Heard = decltype(heard);
  EXPECT_EQ(heard, (Heard{{1, CallOutcome::under_way}, {1, CallOutcome::failed}}));
  EXPECT_EQ(evidence, text.size()) << "all of it";
  const CallRecord& kept = ledger.records()[0];
  EXPECT_EQ(kept.error, "reset by peer");
  EXPECT_LE(kept.evidence.size(), 4096U);
  EXPECT_TRUE(kept.evidence.starts_with("\xC3\xA4")) << "no half character";
  EXPECT_TRUE(kept.evidence.ends_with("end"));
}

TEST(CallLedgerDeathTest, a_call_ends_once) {
  CallLedger ledger;
  std::uint64_t id = ledger.sent(call("main"));
  ledger.ended(id, CallOutcome::cancelled, {}, Time(2s));
  EXPECT_DEATH(ledger.ended(id, CallOutcome::ended, {}, Time(3s)), "ends once");
  EXPECT_DEATH(ledger.ended(7, CallOutcome::ended, {}, Time(3s)), "was sent");
}

}  // namespace
}  // namespace specgen
