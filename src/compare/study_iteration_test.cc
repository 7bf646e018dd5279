#include "compare/study_iteration.h"

#include <algorithm>

#include "speculate/scripted_iteration.h"

namespace specgen {
namespace {

using std::chrono::seconds;

class StudyIterationTest : public testing::Test, public IterationFixture {
 protected:
  IterationReport run(StudySettings study) {
    StudyIteration here(context(), setup(), study);
    return IterationFixture::run(here);
  }
};

TEST_F(StudyIterationTest, runs_to_its_end_and_forks_at_every_share_of_the_reasoning) {
  std::string line = "This is a line of forty characters here.\n";
  for (int i = 0; i < 8; ++i) model.main.push_back({.after = seconds(1), .text = line + line});
  model.main.insert(model.main.begin() + 4, {.text = fenced(1)});
  model.main.push_back({.kind = DeltaKind::content, .text = fenced(2)});
  model.fork = {{.after = seconds(1), .kind = DeltaKind::content, .text = kernel(3)}};
  results[1] = results[3] = {.meets_criterion = true};  // stops nothing
  IterationReport report = run({.step = 0.25});
  EXPECT_EQ(report.end, IterationEnd::answered);
  int forks = 0, drafts = 0;
  std::int64_t last = 0;
  for (const FoundKernel& found : submitted) {
    EXPECT_EQ(found.shadow, found.origin != Origin::main);
    drafts += found.origin == Origin::harvest;
    if (found.origin != Origin::fork) continue;
    ++forks;
    EXPECT_EQ(found.trigger, "share");
    EXPECT_GT(found.prefix_tokens, last);
    last = found.prefix_tokens;
  }
  EXPECT_EQ(forks, 3);
  EXPECT_EQ(drafts, 1);
  EXPECT_GE(took, seconds(10));  // everything was evaluated
}

TEST_F(StudyIterationTest, is_not_abandoned_when_its_candidates_fail) {
  for (int number : {3, 4, 5, 6}) {
    model.main.push_back({.after = seconds(1), .text = fenced(number)});
    results[number] = {.has_feedback = false, .failed = true};
  }
  model.main.push_back({.kind = DeltaKind::content, .text = fenced(2)});
  repairs = true;
  EXPECT_EQ(run({.step = 0.5}).end, IterationEnd::answered);
}

TEST_F(StudyIterationTest, may_run_the_same_prompt_a_second_time) {
  model.main = {{.after = seconds(1), .text = "Some reasoning.\n\nMore reasoning about it.\n\n"},
                {.kind = DeltaKind::content, .text = fenced(2)}};
  EXPECT_EQ(run({.step = 0.5, .control = true}).end, IterationEnd::answered);
  auto control = std::ranges::find(model.requests, "control", &Request::purpose);
  ASSERT_NE(control, model.requests.end());
  EXPECT_NE(control->sampling.seed, model.requests.front().sampling.seed);
  EXPECT_EQ(std::ranges::count(submitted, true, &FoundKernel::shadow), 1);
  EXPECT_EQ(std::ranges::count(submitted, Origin::main, &FoundKernel::origin), 2);
}

TEST_F(StudyIterationTest, makes_no_fork_that_does_not_fit_the_budget) {
  has_budget = false;
  model.main = {{.after = seconds(1), .text = "Some reasoning.\n\nMore reasoning about it.\n\n"},
                {.kind = DeltaKind::content, .text = fenced(2)}};
  EXPECT_EQ(run({.step = 0.5}).end, IterationEnd::answered);
  EXPECT_EQ(model.requests.size(), 1u);
}

TEST_F(StudyIterationTest, ends_at_once_when_the_run_ends) {
  model.main = {{seconds(100), DeltaKind::reasoning, "hm"}};
  evaluating.spawn([](Loop& loop, Event& its_stop) -> Task<void> {
    co_await loop.sleep(seconds(3));
    its_stop.set();
  }(runtime.loop, stop));
  EXPECT_EQ(run({}).end, IterationEnd::interrupted);
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.log, Log{"main cancelled"});
}

TEST_F(StudyIterationTest, whose_stream_breaks_has_failed) {
  model.breaks = true;
  model.main = {{seconds(1), DeltaKind::reasoning, "hm"}};
  IterationReport report = run({});
  EXPECT_EQ(report.end, IterationEnd::failed);
  EXPECT_NE(report.note.find("cut"), std::string::npos);
}

}  // namespace
}  // namespace specgen
