#include "speculate/fork_runner.h"

#include "speculate/scripted_iteration.h"

namespace specgen {
namespace {

using std::chrono::seconds;

class ForkRunnerTest : public testing::Test, public IterationFixture {
 protected:
  ForkRunnerTest() { model.fork = {{seconds(1), DeltaKind::content, kernel(2)}}; }

  void begin() {
    its_setup = setup();
    follower = std::make_unique<StreamFollower>("cpu", false, triggers.get());
    forks = std::make_unique<ForkRunner>(its_context, its_setup, *follower, generations,
                                         [this](FoundKernel kernel) { kernels.push_back(kernel); });
    gate.begin_iteration();
  }
  // Passes the triggers in the text to the runner, as an iteration does.
  void reason(std::string text) {
    StreamFindings& found =
        follower->follow({.kind = DeltaKind::reasoning, .text = std::move(text), .token_ids = {}});
    for (const Trigger& trigger : found.triggers) forks->consider(trigger);
    if (found.triggers.empty()) forks->reconsider_waiting();
  }
  void pass(Duration time) {
    runtime.loop.run([](Loop& loop, Duration its_time) -> Task<void> {
      co_await loop.sleep(its_time);
    }(runtime.loop, time));
  }
  std::uint64_t refused(Refusal refusal) const {
    return forks->refusals()[static_cast<std::size_t>(refusal)];
  }

  IterationContext its_context = context();
  IterationSetup its_setup;
  SideGenerations generations{runtime.loop, model};
  std::unique_ptr<StreamFollower> follower;
  std::unique_ptr<ForkRunner> forks;
  std::vector<FoundKernel> kernels;
};

TEST_F(ForkRunnerTest, forks_at_a_trigger_from_the_reasoning_so_far) {
  begin();
  reason("Let me see.\nI decide to tile.\nAnd then");
  EXPECT_EQ(generations.in_flight(), 1);
  pass(seconds(2));
  EXPECT_EQ(generations.in_flight(), 0);
  ASSERT_EQ(model.requests.size(), 1u);
  const Request& request = model.requests[0];
  EXPECT_EQ(request.prefix->text, "Let me see.\nI decide to tile.\n");
  EXPECT_EQ(request.mode, Mode::answer);
  EXPECT_EQ(request.purpose, "fork");
  EXPECT_EQ(request.affinity, "i1");
  EXPECT_EQ(request.answer_start, "```cpp\n");
  EXPECT_EQ(request.stop, std::vector<std::string>{"\n```"});
  EXPECT_EQ(request.max_tokens, settings.fork_max_tokens);
  EXPECT_LT(request.priority, its_setup.main.priority);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].source, kernel(2));
  EXPECT_EQ(kernels[0].origin, Origin::fork);
  EXPECT_EQ(kernels[0].trigger, "decided");
  EXPECT_EQ(kernels[0].prefix_bytes, request.prefix->text.size());
}

TEST_F(ForkRunnerTest, lets_a_fork_write_a_diff_where_the_answer_is_one) {
  parent = kernel(3);
  model.fork = {{seconds(1), DeltaKind::content, diff(3, 4)}};
  begin();
  reason("I decide.\n\n");
  pass(seconds(2));
  EXPECT_EQ(model.requests.at(0).answer_start, "");
  EXPECT_TRUE(model.requests.at(0).stop.empty());
  EXPECT_EQ(kernels.at(0).source, kernel(4));
}

TEST_F(ForkRunnerTest, counts_refusals_and_forgets_a_trigger_that_is_refused_for_good) {
  has_budget = false;
  begin();
  reason("I decide.\n\n");
  EXPECT_EQ(refused(Refusal::budget), 1u);
  has_budget = true;
  reason("More.\n");
  EXPECT_EQ(generations.in_flight(), 0);
}

TEST_F(ForkRunnerTest, forks_later_at_the_latest_trigger_that_was_refused_for_a_temporary_reason) {
  pool_load = {.queued = {0, 5}, .devices = 1};
  begin();
  reason("I decide one thing.\n");
  reason(std::string(600, 'x') + "\n");
  reason("I decide the last thing.\n");
  reason("More.\n");
  EXPECT_EQ(generations.in_flight(), 0);
  pool_load = {.devices = 1, .idle_devices = 1};
  reason("Even more.\n");
  pass(seconds(2));
  ASSERT_EQ(model.requests.size(), 1u);
  EXPECT_TRUE(model.requests[0].prefix->text.ends_with("the last thing.\n"));
  EXPECT_EQ(refused(Refusal::pool_is_full), 2u) << "each trigger once";
  reason("Still more.\n");
  EXPECT_EQ(generations.in_flight(), 0) << "the trigger is used up";
}

TEST_F(ForkRunnerTest, keeps_its_distance_from_drafts) {
  begin();
  forks->add_draft(10);
  reason("I decide.\n\n");
  EXPECT_EQ(refused(Refusal::too_close), 1u);
  begin();
  forks->add_repeated_draft();
  reason("I decide.\n\n");
  EXPECT_EQ(refused(Refusal::too_close), 1u);
}

TEST_F(ForkRunnerTest, counts_repairs_among_the_generations_in_flight) {
  gate = Gate({.first_after_tokens = 0, .max_in_flight = 1});
  begin();
  generations.start(its_setup.main, [](const Answer*) {});
  reason("I decide.\n\n");
  EXPECT_EQ(refused(Refusal::too_many_in_flight), 1u);
}

TEST_F(ForkRunnerTest, reports_a_fork_without_a_kernel_to_the_gate_alone) {
  model.fork = {{seconds(1), DeltaKind::content, "I cannot do that."}};
  begin();
  reason("I decide.\n\n");
  pass(seconds(2));
  EXPECT_TRUE(kernels.empty());
  EXPECT_LT(gate.yield(), 1);
}

TEST_F(ForkRunnerTest, takes_a_fork_that_failed_for_no_result) {
  model.refuses = true;
  begin();
  reason("I decide.\n\n");
  pass(seconds(2));
  EXPECT_TRUE(kernels.empty());
  EXPECT_EQ(gate.yield(), 1);
  EXPECT_EQ(generations.in_flight(), 0);
}

}  // namespace
}  // namespace specgen
