#include "speculate/iteration.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "runtime/testing.h"

namespace specgen {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string kernel(int number) {
  return "extern \"C\" void k(const float* x, float* y, long n, void*, int, int) {\n  y[0] = " +
         std::to_string(number) + " * x[0];\n}\n";
}
std::string fenced(int number) {
  return "```cpp\n" + kernel(number) + "```\n";
}

struct Said {
  Duration after{};  // since the one before
  DeltaKind kind = DeltaKind::reasoning;
  std::string text = {};
};

// Says what it is told to, a second or so apart.
class ScriptedModel final : public Model {
 public:
  explicit ScriptedModel(Loop& loop) : loop_(loop) {}

  const ModelInfo& info() const override { return info_; }
  Task<Result<std::unique_ptr<Generation>>> start(Request request) override {
    requests.push_back(request);
    if (refuses) co_return fail(ErrorCode::endpoint_unreachable, "nobody is there");
    bool is_fork = request.mode == Mode::answer;
    bool mends = is_fork && !request.prefix;
    co_return std::make_unique<Speech>(*this, mends ? mended : is_fork ? fork : main, is_fork);
  }

  std::vector<Said> main, fork, mended;
  bool refuses = false;
  bool breaks = false;  // the main stream, at its end
  std::vector<Request> requests;
  Log log;  // who was cancelled or came to an end

 private:
  class Speech final : public Generation {
   public:
    Speech(ScriptedModel& model, std::vector<Said> script, bool is_fork)
        : model_(model), script_(script.begin(), script.end()), is_fork_(is_fork) {}
    ~Speech() override {
      model_.log.push_back(std::string(is_fork_ ? "fork" : "main") +
                           (ended_ ? " ended" : " cancelled"));
    }
    Task<Result<StreamEvent>> next() override {
      if (script_.empty()) {
        ended_ = true;
        if (model_.breaks && !is_fork_) co_return fail(ErrorCode::stream_broken, "cut");
        co_return Ended{.reasons = {FinishReason::stop}, .usage = {.completion_tokens = 77}};
      }
      co_await model_.loop_.sleep(script_.front().after);
      Said said = std::move(script_.front());
      script_.pop_front();
      co_return Delta{.kind = said.kind, .text = std::move(said.text), .token_ids = {}};
    }

   private:
    ScriptedModel& model_;
    std::deque<Said> script_;
    bool is_fork_;
    bool ended_ = false;
  };

  Loop& loop_;
  ModelInfo info_{.name = "scripted", .prices = {}};
};

class AnIteration : public testing::Test, public CandidateSink {
 protected:
  AnIteration()
      : model(runtime.loop),
        gate({.first_after_tokens = 0}),
        stop(runtime.loop),
        judging(runtime.loop) {
    TriggerSet set;
    TriggerPattern& decided = set.patterns.emplace_back();
    decided.name = "decided";
    decided.regex = "I decide";
    triggers = Triggers::compile(std::move(set)).value();
  }

  CandidateId found(IterationId, FoundKernel kernel) override {
    CandidateId id{++last_};
    found_kernels.push_back(kernel);
    judging.spawn(judge(id, kernel));
    return id;
  }
  bool may_spend(std::int64_t) const override { return has_money; }
  PoolLoad load() const override { return pool_load; }
  std::int64_t tokens_for_a_good_one() const override { return usual_tokens; }
  std::optional<Mending> words_to_mend(CandidateId failed) override {
    if (!mends) return std::nullopt;
    return Mending{.words = {{Speaker::assistant, fmt::format("kernel {}", failed.value)},
                             {Speaker::user, "mend"}},
                   .source = found_kernels.at(failed.value - 1).source};
  }

  // By the number in the kernel: how long it takes, whether it is feedback, whether it is good enough.
  struct Fate {
    Duration takes = seconds(1);
    bool has_feedback = true;
    bool good_enough = false;
    bool failed = false;
    bool is_first = false;
    bool repeated = false;
  };
  Task<void> judge(CandidateId id, FoundKernel kernel) {
    std::size_t at = kernel.source.find("y[0] = ") + 7;
    Fate fate = fates[std::stoi(kernel.source.substr(at))];
    co_await runtime.loop.sleep(fate.takes);
    if (iteration) {
      iteration->tell({.id = id,
                       .origin = kernel.origin,
                       .has_feedback = fate.has_feedback,
                       .good_enough = fate.good_enough,
                       .is_first = fate.is_first,
                       .failed = fate.failed,
                       .repeated = fate.repeated,
                       .is_mended = kernel.mends.value != 0});
    }
  }

  Task<void> make_room_at(Duration when) {
    co_await runtime.loop.sleep(when);
    pool_load = {.devices = 1, .idle_devices = 1};
  }

  Task<void> become_busy_at(Duration when) {
    co_await runtime.loop.sleep(when);
    pool_load = {.queued = {0, 5}, .devices = 1};
  }

  IterationReport run() {
    Request main;
    main.messages = {{Speaker::user, "write"}};
    main.purpose = "main";
    main.affinity = "i1";
    Iteration here({.loop = runtime.loop,
                    .model = model,
                    .sink = *this,
                    .gate = gate,
                    .triggers = triggers.get(),
                    .stop = stop},
                   {.id = {1},
                    .main = main,
                    .backend = "cpu",
                    .parent = parent,
                    .wants_diff = !parent.empty(),
                    .speculation = settings});
    iteration = &here;
    IterationReport report = runtime.loop.run(here.run());
    iteration = nullptr;
    took = runtime.loop.now() - Time();
    return report;
  }

  VirtualRuntime runtime;
  ScriptedModel model;
  Gate gate;
  Event stop;
  std::unique_ptr<Triggers> triggers;
  SpeculationSettings settings;
  std::map<int, Fate> fates;
  bool has_money = true;
  bool mends = false;
  std::int64_t usual_tokens = 0;
  PoolLoad pool_load{.devices = 1, .idle_devices = 1};
  std::string parent;
  std::vector<FoundKernel> found_kernels;
  Iteration* iteration = nullptr;
  Duration took{};
  std::uint64_t last_ = 0;
  TaskGroup judging;
};

TEST_F(AnIteration, ends_when_the_answer_is_judged) {
  model.main = {{seconds(10), DeltaKind::reasoning, "hm\n"},
                {seconds(1), DeltaKind::content, fenced(1)}};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(12));
  EXPECT_EQ(report.tokens, 77);
  EXPECT_EQ(report.reasoning, "hm\n");
  ASSERT_EQ(found_kernels.size(), 1u);
  EXPECT_EQ(found_kernels[0].origin, Origin::main);
  EXPECT_EQ(found_kernels[0].source, kernel(1));
}

TEST_F(AnIteration, harvests_a_kernel_and_stops_the_reasoning_when_it_is_good_enough) {
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(7)},
                {seconds(100), DeltaKind::reasoning, "more"},
                {seconds(1), DeltaKind::content, fenced(1)}};
  fates[7] = {.takes = seconds(2), .good_enough = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(report.by, CandidateId{1});
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.log, Log{"main cancelled"});
  EXPECT_EQ(found_kernels[0].origin, Origin::harvest);
}

TEST_F(AnIteration,
       hands_in_one_draft_also_while_the_devices_have_no_room_and_keeps_the_latest_other) {
  pool_load = {.queued = {0, 3}, .devices = 1};
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(3)},
                {seconds(1), DeltaKind::reasoning, "Or:\n" + fenced(7)},
                {seconds(1), DeltaKind::reasoning, "Better:\n" + fenced(8)},
                {seconds(1), DeltaKind::reasoning, "Hm.\n"},
                {seconds(9), DeltaKind::reasoning, "more"}};
  fates[3] = {.takes = seconds(60)};
  judging.spawn(make_room_at(milliseconds(3500)));
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::no_kernel);
  ASSERT_EQ(found_kernels.size(), 2u);
  EXPECT_EQ(found_kernels[0].source, kernel(3));
  EXPECT_EQ(found_kernels[1].source, kernel(8));
}

TEST_F(AnIteration, hands_in_a_draft_that_waited_when_nothing_else_comes) {
  pool_load = {.queued = {0, 3}, .devices = 1};
  model.main = {{seconds(1), DeltaKind::reasoning, "A draft:\n" + fenced(3)},
                {seconds(1), DeltaKind::reasoning, "Or:\n" + fenced(7)}};
  fates[3] = {.takes = seconds(60)};
  EXPECT_EQ(run().end, IterationEnd::no_kernel);
  EXPECT_EQ(found_kernels.size(), 2u);
  model.breaks = true;
  EXPECT_EQ(run().end, IterationEnd::failed);
  EXPECT_EQ(found_kernels.size(), 4u);
}

TEST_F(AnIteration, forks_at_a_trigger_from_the_reasoning_so_far) {
  model.main = {{seconds(1), DeltaKind::reasoning, "Let me see.\nI dec"},
                {seconds(1), DeltaKind::reasoning, "ide to tile.\nAnd then"},
                {seconds(50), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(2), DeltaKind::content, kernel(2)}};
  fates[2] = {.takes = seconds(1), .good_enough = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(took, seconds(5));
  ASSERT_EQ(model.requests.size(), 2u);
  const Request& fork = model.requests[1];
  EXPECT_EQ(fork.prefix->text, "Let me see.\nI decide to tile.\n");
  EXPECT_EQ(fork.mode, Mode::answer);
  EXPECT_EQ(fork.purpose, "fork");
  EXPECT_EQ(fork.affinity, "i1");
  EXPECT_EQ(fork.answer_start, "```cpp\n");
  EXPECT_LT(fork.priority, model.requests[0].priority);
  ASSERT_EQ(found_kernels.size(), 1u);
  EXPECT_EQ(found_kernels[0].origin, Origin::fork);
  EXPECT_EQ(found_kernels[0].trigger, "decided");
  EXPECT_EQ(found_kernels[0].source, kernel(2));
}

TEST_F(AnIteration, comes_back_to_a_trigger_that_was_too_close_to_the_fork_before) {
  std::string more = std::string(3 * 300, 'x') + "\n";  // about 300 tokens
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide one thing.\n"},
                {seconds(1), DeltaKind::reasoning, more},
                {seconds(1), DeltaKind::reasoning, "I decide another thing.\n"},
                {seconds(1), DeltaKind::reasoning, std::string(300, 'y') + "\n"},
                {seconds(1), DeltaKind::reasoning, "I decide the last thing.\n"},
                {seconds(1), DeltaKind::reasoning, more},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(1), DeltaKind::content, kernel(2)}};
  run();
  ASSERT_EQ(model.requests.size(), 3u);
  EXPECT_TRUE(model.requests[1].prefix->text.ends_with("one thing.\n"));
  EXPECT_TRUE(model.requests[2].prefix->text.ends_with("the last thing.\n"));
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::too_close)], 2u);
}

TEST_F(AnIteration, looks_at_a_decision_that_came_after_the_first_good_kernel_before_it_stops) {
  std::string more = std::string(3 * 600, 'x') + "\n";
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(0), DeltaKind::reasoning, more},
                {seconds(1), DeltaKind::reasoning, "I decide for more.\n"},
                {seconds(2), DeltaKind::reasoning, "So.\n"},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(3), DeltaKind::content, kernel(2)}};
  fates[7] = {.takes = seconds(2), .good_enough = true, .is_first = true};
  fates[2] = {.takes = seconds(1), .has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(report.by, CandidateId{1});
  EXPECT_EQ(took, seconds(6));  // not at 3, when the draft was known to be good
}

TEST_F(AnIteration, has_its_first_draft_judged_however_busy_the_devices_are) {
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(4), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::reasoning, fenced(8)},
                {seconds(4), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(2), DeltaKind::content, kernel(2)}};
  fates[2] = fates[7] = {.takes = seconds(60)};
  judging.spawn(become_busy_at(seconds(4)));
  EXPECT_EQ(run().end, IterationEnd::answered);
  std::vector<Origin> origins;
  for (const FoundKernel& found : found_kernels) origins.push_back(found.origin);
  EXPECT_EQ(origins, (std::vector{Origin::fork, Origin::harvest, Origin::main}));
}

TEST_F(AnIteration, gives_up_reasoning_that_leads_nowhere) {
  gate = Gate({.first_after_tokens = 0, .give_up_after = 4});
  model.main = {
      {seconds(1), DeltaKind::reasoning, fenced(3)}, {seconds(1), DeltaKind::reasoning, fenced(9)},
      {seconds(1), DeltaKind::reasoning, fenced(4)}, {seconds(1), DeltaKind::reasoning, fenced(5)},
      {seconds(1), DeltaKind::reasoning, fenced(6)}, {seconds(1), DeltaKind::reasoning, fenced(8)},
      {seconds(90), DeltaKind::content, fenced(1)}};
  fates[9] = {.has_feedback = false};  // right, and nothing new
  for (int number : {3, 4, 5, 6, 8}) fates[number] = {.has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(7));
  EXPECT_TRUE(report.note.starts_with("4 kernels")) << report.note;
}

TEST_F(AnIteration, has_a_draft_that_failed_mended_at_once) {
  mends = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.mended = {{seconds(2), DeltaKind::content, fenced(5)}};
  fates[3] = {.has_feedback = false, .failed = true};
  fates[5] = {.good_enough = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_EQ(took, seconds(5));
  ASSERT_EQ(model.requests.size(), 2U);
  const Request& asked = model.requests[1];
  EXPECT_EQ(asked.mode, Mode::answer);
  EXPECT_EQ(asked.affinity, "i1");
  ASSERT_EQ(asked.messages.size(), 3U);
  EXPECT_EQ(asked.messages[1].text, "kernel 1");
  EXPECT_EQ(found_kernels.at(1).origin, Origin::fork);
  EXPECT_EQ(found_kernels.at(1).trigger, "mend");
  EXPECT_EQ(found_kernels.at(1).mends, CandidateId{1});
}

TEST_F(AnIteration, takes_a_change_for_a_mended_kernel) {
  mends = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  const std::string failing = kernel(3), right = kernel(5);
  const std::size_t at = failing.find("y[0] = 3");
  const std::size_t line = failing.rfind('\n', at) + 1, end = failing.find('\n', at);
  auto hunk = [&](const std::string& source) { return source.substr(line, end - line); };
  model.mended = {{seconds(2), DeltaKind::content,
                   fmt::format("<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n", hunk(failing),
                               hunk(right))}};
  fates[3] = {.has_feedback = false, .failed = true};
  fates[5] = {.good_enough = true};
  EXPECT_EQ(run().end, IterationEnd::stopped);
  EXPECT_EQ(found_kernels.at(1).source, right);
}

// What is mended did not fail yet; and neither a repeated failure nor a mended kernel is mended.
TEST_F(AnIteration, is_given_up_when_mending_does_not_help) {
  mends = true;
  gate = Gate({.first_after_tokens = 0, .max_mended = 1, .give_up_after = 2});
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(1), DeltaKind::reasoning, fenced(4)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.mended = {{seconds(2), DeltaKind::content, fenced(5)}};
  fates[3] = fates[5] = {.has_feedback = false, .failed = true};
  fates[4] = {.has_feedback = false, .failed = true, .repeated = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(5));  // at 2 one was being mended, at 3 one had failed
  EXPECT_EQ(model.requests.size(), 2U);
}

// A fork that comes back to what is known has mended nothing.
TEST_F(AnIteration, takes_a_failure_that_was_mended_to_a_known_kernel_for_one) {
  mends = true;
  gate = Gate({.first_after_tokens = 0, .give_up_after = 1});
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.mended = {{seconds(2), DeltaKind::content, fenced(5)}};
  fates[3] = {.has_feedback = false, .failed = true};
  fates[5] = {.has_feedback = false, .repeated = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_EQ(took, seconds(5));
}

TEST_F(AnIteration, with_feedback_is_given_up_when_it_has_taken_what_a_good_kernel_takes) {
  usual_tokens = 100;
  const std::string words(120, 'x');  // some forty tokens
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(3)},
                {seconds(2), DeltaKind::reasoning, words},
                {seconds(2), DeltaKind::reasoning, words},
                {seconds(2), DeltaKind::reasoning, words},
                {seconds(90), DeltaKind::content, fenced(1)}};
  fates[3] = {.has_feedback = false};  // right, and nothing new
  EXPECT_EQ(run().end, IterationEnd::answered);

  last_ = 0;
  fates[3] = {};
  Duration before = took;
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::abandoned);
  EXPECT_LE(took - before, seconds(7));

  gate = Gate({.first_after_tokens = 0, .settle_after = 0});
  EXPECT_EQ(run().end, IterationEnd::answered);
  gate = Gate({.first_after_tokens = 0});
  usual_tokens = 0;  // nothing good was found yet
  EXPECT_EQ(run().end, IterationEnd::answered);
}

TEST_F(AnIteration, mends_its_answer_where_nothing_else_came_of_it) {
  mends = true;
  model.main = {{seconds(1), DeltaKind::content, fenced(3)}};
  model.mended = {{seconds(2), DeltaKind::content, fenced(5)}};
  fates[3] = {.has_feedback = false, .failed = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(5));
  EXPECT_EQ(found_kernels.size(), 2U);
}

TEST_F(AnIteration, cancels_forks_under_way_when_it_is_stopped) {
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  model.fork = {{seconds(60), DeltaKind::content, kernel(2)}};
  fates[7] = {.takes = seconds(1), .good_enough = true};
  run();
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.requests.size(), 2u);
  EXPECT_EQ(std::ranges::count(model.log, "fork cancelled"), 1);
  EXPECT_EQ(std::ranges::count(model.log, "main cancelled"), 1);
}

TEST_F(AnIteration, makes_no_fork_that_does_not_fit_the_budget) {
  has_money = false;
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(9), DeltaKind::content, fenced(1)}};
  run();
  EXPECT_EQ(model.requests.size(), 1u);
  EXPECT_EQ(gate.refusals()[static_cast<std::size_t>(Refusal::budget)], 1u);
}

TEST_F(AnIteration, that_wants_a_change_lets_forks_write_one) {
  parent = kernel(3);
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n"},
                {seconds(9), DeltaKind::content, fenced(1)}};
  model.fork = {
      {seconds(1), DeltaKind::content,
       "<<<<<<< SEARCH\n  y[0] = 3 * x[0];\n=======\n  y[0] = 4 * x[0];\n>>>>>>> REPLACE\n"}};
  run();
  EXPECT_EQ(model.requests.at(1).answer_start, "");
  EXPECT_TRUE(model.requests.at(1).stop.empty());
  ASSERT_EQ(found_kernels.size(), 2u);
  EXPECT_EQ(found_kernels[0].source, kernel(4));
}

TEST_F(AnIteration, without_speculation_only_the_answer_counts) {
  settings = {.harvest = false, .forks = false, .early_stop = false};
  model.main = {{seconds(1), DeltaKind::reasoning, "I decide.\n\n" + fenced(7)},
                {seconds(9), DeltaKind::content, fenced(1)}};
  fates[7] = {.good_enough = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(model.requests.size(), 1u);
  EXPECT_EQ(found_kernels.size(), 1u);
}

TEST_F(AnIteration, waits_for_feedback_of_a_draft_when_the_answer_fails) {
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::content, fenced(1)}};
  fates[7] = {.takes = seconds(30)};
  fates[1] = {.takes = seconds(1), .has_feedback = false};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  EXPECT_EQ(took, seconds(31));
}

TEST_F(AnIteration, does_not_wait_for_drafts_when_the_answer_has_brought_feedback) {
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(1), DeltaKind::content, fenced(1)}};
  fates[7] = {.takes = seconds(30)};
  run();
  EXPECT_EQ(took, seconds(3));
}

TEST_F(AnIteration, that_comes_to_no_kernel_says_why) {
  model.main = {{seconds(1), DeltaKind::content, "I cannot do that."}};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::no_kernel);
  EXPECT_FALSE(report.note.empty());
}

TEST_F(AnIteration, whose_stream_breaks_still_waits_for_what_it_has_shown) {
  model.breaks = true;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)}};
  fates[7] = {.takes = seconds(5)};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::failed);
  EXPECT_NE(report.note.find("cut"), std::string::npos);
  EXPECT_EQ(took, seconds(6));
}

TEST_F(AnIteration, that_cannot_begin_has_failed) {
  model.refuses = true;
  EXPECT_EQ(run().end, IterationEnd::failed);
}

TEST_F(AnIteration, ends_at_once_when_the_run_is_to_end) {
  model.main = {{seconds(100), DeltaKind::reasoning, "hm"}};
  judging.spawn([](VirtualRuntime& its_world, Event& its_stop) -> Task<void> {
    co_await its_world.loop.sleep(seconds(3));
    its_stop.set();
  }(runtime, stop));
  EXPECT_EQ(run().end, IterationEnd::interrupted);
  EXPECT_EQ(took, seconds(3));
  EXPECT_EQ(model.log, Log{"main cancelled"});
}

TEST_F(AnIteration, hands_over_its_stream_where_a_shadow_is_wanted) {
  settings.shadow = 1;
  model.main = {{seconds(1), DeltaKind::reasoning, fenced(7)},
                {seconds(90), DeltaKind::content, fenced(1)}};
  fates[7] = {.takes = seconds(1), .good_enough = true};
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::stopped);
  EXPECT_TRUE(report.shadow);
  EXPECT_TRUE(model.log.empty());
}

TEST_F(AnIteration, gives_up_on_a_model_that_never_stops_talking) {
  for (int i = 0; i < 64; ++i) {
    model.main.push_back({milliseconds(1), DeltaKind::reasoning, std::string(1 << 20, 'x')});
  }
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::failed);
  EXPECT_LT(report.reasoning.size(), std::size_t{20} << 20);
}

TEST_F(AnIteration, of_a_study_runs_to_its_end_and_forks_at_every_share_of_the_reasoning) {
  settings.study_step = 0.25;
  std::string line = "This is a line of forty characters here.\n";
  for (int i = 0; i < 8; ++i) model.main.push_back({.after = seconds(1), .text = line + line});
  model.main.insert(model.main.begin() + 4, {.text = fenced(1)});
  model.main.push_back({.kind = DeltaKind::content, .text = fenced(2)});
  model.fork = {{.after = seconds(1), .kind = DeltaKind::content, .text = kernel(3)}};
  fates[1] = fates[3] = {.good_enough = true};  // it stops nothing
  IterationReport report = run();
  EXPECT_EQ(report.end, IterationEnd::answered);
  int forks = 0, drafts = 0;
  std::int64_t last = 0;
  for (const FoundKernel& found : found_kernels) {
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
  EXPECT_GE(took, seconds(10));  // all of it was judged
}

TEST_F(AnIteration, of_a_study_may_think_the_same_prompt_through_a_second_time) {
  settings.study_step = 0.5;
  settings.study_control = true;
  model.main = {{.after = seconds(1), .text = "Thinking.\n\nMore thinking of it.\n\n"},
                {.kind = DeltaKind::content, .text = fenced(2)}};
  EXPECT_EQ(run().end, IterationEnd::answered);
  auto control = std::ranges::find(model.requests, "control", &Request::purpose);
  ASSERT_NE(control, model.requests.end());
  EXPECT_NE(control->sampling.seed, model.requests.front().sampling.seed);
  EXPECT_EQ(std::ranges::count(found_kernels, true, &FoundKernel::shadow), 1);
  EXPECT_EQ(std::ranges::count(found_kernels, Origin::main, &FoundKernel::origin), 2);
}

}  // namespace
}  // namespace specgen
