// Tuned candidates and refused triggers in everything that shows a run.

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/fake_run.h"
#include "report/html_report.h"
#include "report/progress.h"
#include "report/speculation_ledger.h"
#include "report/summary.h"
#include "report/timeline.h"

namespace specgen {
namespace {

struct TunedRun : FakeRun {
  TunedRun() {
    IterationId id = iteration();
    CandidateId first = candidate(id, Origin::fork, "// specgen:tune B = 1, 2\nslow", 1);
    confirm(first, 2, 10);
    candidate(id, Origin::main, "other", 2);
    add(to_entry(CandidateTuned{.id = first,
                                .speedup = {3, 2.9, 3.1},
                                .peak_fraction = 0.75,
                                .tunables = {{"B", 2}},
                                .source = keep("// specgen:tune B = 2, 1\nslow"),
                                .evaluation = keep(R"({"tunables":{"B":2}})"),
                                .spans = {{Stage::validate, "cpu:0", at(11), at(11), at(12)},
                                          {Stage::tune, "cpu:0", at(12), at(12), at(20)},
                                          {Stage::validate, "cpu:0", at(20), at(20), at(21)}},
                                .at = from_seconds(21)}));
    add(to_entry(IterationEnded{.id = id, .refusals = {1, 4}}));
  }
  static Time at(double second) { return Time(from_seconds(second)); }
};

TEST(Tuned, the_winner_has_the_values_that_won_as_its_defaults) {
  RunData run = TunedRun().data();
  Winner winner = winner_of(run, "").value();
  EXPECT_EQ(winner.speedup.median, 3);
  EXPECT_EQ(winner.tunables, (Values{{"B", 2}}));
  EXPECT_TRUE(winner.source.starts_with("// specgen:tune B = 2, 1\n")) << winner.source;

  Json summary = boost::json::object();
  add_summary(summary, run, speculation_ledger(run.state));
  const Json& best = summary.at("tasks").at(0).at("best");
  EXPECT_EQ(number_at(best.at("speedup"), "median"), 3);
  EXPECT_EQ(best.at("tunables"), (Json{{"B", 2}}));
  EXPECT_TRUE(flag_at(best, "tuned"));
}

TEST(Tuned, progress_reports_it) {
  ProgressTracker tracker;
  ProgressEvents events;
  RunState state;
  const TunedRun run;
  for (const Entry& entry : run.entries()) {
    ASSERT_TRUE(state.apply(entry));
    ProgressEvents changes = tracker.update(state, Duration());
    if (entry.type == "tuned") events = changes;
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text, "softmax: c1 tuned: B = 2: 3x (2.9 to 3.1), the best so far");
  EXPECT_TRUE(events[0].notable);
}

TEST(Tuned, its_device_time_counts_and_is_drawn) {
  RunData run = TunedRun().data();
  SpeculationLedger ledger = speculation_ledger(run.state);
  EXPECT_EQ(ledger.origins[static_cast<std::size_t>(Origin::fork)].device_time,
            std::chrono::seconds(1 + 10));
  Timeline timeline = timeline_of(run.state);
  auto sweep = std::ranges::find(timeline.spans, Phase::tune, &TimelineSpan::phase);
  ASSERT_NE(sweep, timeline.spans.end());
  for (const TimelineSpan& span : timeline.spans) EXPECT_TRUE(span.useful);
  EXPECT_TRUE(html_report(run).contains(R"("tuned":{"at":)"));
}

TEST(Refusals, are_in_the_ledger_by_their_reason) {
  RunData run = TunedRun().data();
  SpeculationLedger ledger = speculation_ledger(run.state);
  EXPECT_EQ(ledger.refusals, (RefusalCounts{1, 4}));
  Json refused = to_json(ledger).at("triggers_refused");
  EXPECT_EQ(int_at(refused, "too_early"), 1);
  EXPECT_EQ(int_at(refused, "too_close"), 4);
  EXPECT_EQ(int_at(refused, "budget"), 0);
}

}  // namespace
}  // namespace specgen
