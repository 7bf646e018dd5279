// The pool with a real specgen-node whose processes are killed, stopped and replaced by a broken node: no candidate is
// lost or judged twice, every candidate ends once with the right verdict, and no process is left.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "base/json.h"
#include "evaluate/node/frames.h"
#include "kvcache/kv_test_client.h"
#include "schedule/evaluation_pool.h"
#include "schedule/node_process.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

bool has_argument(const LivingProcess& process, std::string_view argument) {
  return process.command_line.find(argument) != std::string::npos;
}

struct Expectation {
  Candidate candidate;
  std::vector<Verdict> allowed;  // a busy host may find a timing unstable
  std::optional<Result<Judged>> judged = {};
};

class PoolTest : public testing::Test {
 protected:
  PoolTest() { host_.write("small", task_); }

  NodeProcess real_node(std::vector<std::string> flags = {}) {
    return NodeProcess(host_.fixture.loop, host_.fixture.processes,
                       {.name = "real",
                        .argv = {SPECGEN_NODE_BINARY},
                        .devices = {"cpu:0"},
                        .flags = std::move(flags),
                        .environment = host_.environment,
                        .folder = host_.folder.path()});
  }

  void expect(std::string source, std::vector<Verdict> allowed, std::string task = "small") {
    all_.push_back({.candidate = {.id = ids_.next(),
                                  .task = std::move(task),
                                  .backend = "cpu",
                                  .source = std::move(source),
                                  .origin = all_.size() % 2 == 0 ? Origin::main : Origin::fork,
                                  .iteration = IterationId{1}},
                    .allowed = std::move(allowed)});
  }
  void expect_good(std::string source, std::string task = "small") {
    expect(std::move(source), {Verdict::ok, Verdict::unstable_timing}, std::move(task));
  }
  // Candidates that differ in more than comments.
  std::string good(int salt) const {
    return task_.with("const int salt = " + std::to_string(salt) + "; (void)salt;");
  }

  static Task<void> judge(EvaluationPool& pool, Expectation& expected) {
    expected.judged = co_await pool.evaluate(expected.candidate);
  }
  void watch(EvaluationPool& pool) {
    pool.on_event = [this](const PoolEvent& event) {
      if (auto* over = std::get_if<CandidateEnded>(&event)) ++ends_[over->candidate];
      if (auto* started = std::get_if<StageStarted>(&event)) now_.insert(started->stage);
      if (auto* ended = std::get_if<StageEnded>(&event)) now_.erase(ended->stage);
      if (auto* ended = std::get_if<StageEnded>(&event); ended && ended->useful) {
        ++useful_stages_[{ended->candidate, ended->stage}];
      }
    };
  }
  void judge_all(EvaluationPool& pool) {
    watch(pool);
    auto opened = host_.fixture.run(pool.open());
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    TaskGroup group(host_.fixture.loop);
    for (Expectation& each : all_) group.spawn(judge(pool, each));
    ASSERT_TRUE(host_.fixture.run(group.join()).has_value());
  }

  void check_all() const {
    for (const Expectation& each : all_) {
      const CandidateId id = each.candidate.id;
      ASSERT_TRUE(each.judged.has_value()) << to_string(id) << " was lost";
      ASSERT_TRUE(each.judged->has_value()) << to_string(id) << ": " << each.judged->error().text();
      const Judged& judged = **each.judged;
      EXPECT_NE(std::ranges::find(each.allowed, judged.verdict), each.allowed.end())
          << to_string(id) << ": " << to_string(judged.verdict) << ": " << judged.evidence.text;
      auto ended = ends_.find(id);
      EXPECT_TRUE(ended != ends_.end() && ended->second == 1) << to_string(id);
      EXPECT_EQ(judged.profiled, judged.verdict == Verdict::ok) << to_string(id);
      if (judged.profiled) EXPECT_GT(judged.speedup.median, 0) << to_string(id);
    }
    for (const auto& [what, times] : useful_stages_) {
      EXPECT_EQ(times, 1) << to_string(what.first) << " " << to_string(what.second);
    }
  }
  void expect_no_process_left() {
    host_.fixture.run(host_.fixture.processes.drain());
    for (const LivingProcess& left : family_of(::getpid())) {
      EXPECT_FALSE(is_alive(left.pid)) << left.command_line;
    }
  }

  pid_t node() const {
    for (const LivingProcess& child : family_of(::getpid())) {
      if (has_argument(child, SPECGEN_NODE_BINARY) && !has_argument(child, "internal-"))
        return child.pid;
    }
    return 0;
  }
  // The judge of the device, while a candidate runs under it.
  pid_t judge_at_work() const {
    for (const LivingProcess& child : family_of(::getpid())) {
      if (!has_argument(child, "internal-judge")) continue;
      auto below = family_of(child.pid);
      auto executes = [](const LivingProcess& each) {
        return has_argument(each, "internal-cpu-executor");
      };
      if (std::ranges::count_if(below, executes) >= 2) {  // the baseline's and its own
        return child.pid;
      }
    }
    return 0;
  }
  // Does harm while the judge works, and waits until the pool has noticed.
  Task<void> harm(EvaluationPool& pool, int signal, bool the_node) {
    const std::uint64_t fenced = pool.counters().fenced;
    pid_t victim = 0;
    while (victim == 0) {
      co_await host_.fixture.loop.sleep(2ms);
      if (now_.contains(Stage::validate)) victim = judge_at_work();
    }
    if (the_node) victim = node();
    EXPECT_EQ(::kill(victim, signal), 0);
    ++harms_;
    while (pool.counters().fenced == fenced) co_await host_.fixture.loop.sleep(2ms);
  }

  Task<void> do_all_harm(EvaluationPool& pool) {
    co_await harm(pool, SIGKILL, false);  // a judge dies
    co_await harm(pool, SIGSTOP, false);  // another hangs
    co_await harm(pool, SIGKILL, true);   // the node itself dies
  }

  SmallTask task_;
  ProgramFixture host_{SPECGEN_TEST_CACHE};
  IdSource<CandidateId> ids_;
  std::vector<Expectation> all_;
  std::map<CandidateId, int> ends_;
  std::map<std::pair<CandidateId, Stage>, int> useful_stages_;
  std::set<Stage> now_;  // running stages; there is one device and one compile slot
  int harms_ = 0;
};

TEST_F(PoolTest, judges_a_burst_and_equal_candidates_once) {
  const std::string softmax = SPECGEN_SOURCE_DIR "/tasks/softmax";
  const std::string baseline = read_file(softmax + "/baseline.cc").value();
  expect_good(baseline, softmax);
  expect_good("// the same again\n" + baseline, softmax);
  expect("int main( {", {Verdict::compile_error}, softmax);
  expect(replaced(baseline, "std::exp(", "0.5f * std::exp("), {Verdict::wrong}, softmax);
  expect_good(baseline, softmax);
  {
    NodeProcess host = real_node();
    EvaluationPool pool(host_.fixture.loop, {&host}, {});
    judge_all(pool);
    check_all();
    EXPECT_EQ(pool.counters().repeated, 2U);
    EXPECT_EQ(pool.counters().judged, 3U);
    EXPECT_EQ(pool.counters().fenced, 0U);
  }
  expect_no_process_left();
  const Judged& judged = **all_[0].judged;
  Json evaluation = parse_json(judged.evaluation).value();
  EXPECT_EQ(text_at(evaluation, "device"), "cpu:0");
  EXPECT_NE(text_at(evaluation, "sandbox"), "unknown");
  EXPECT_GT(evaluation.at("cases").as_array().size(), 0U);
  EXPECT_FALSE(judged.feedback.empty());
}

TEST_F(PoolTest, no_candidate_is_lost_or_judged_twice_while_judges_and_the_node_are_killed) {
  for (int i = 0; i < 4; ++i) expect_good(good(i));
  expect(task_.with("y[0] = 1; return;"), {Verdict::unwritten, Verdict::wrong});
  expect("int main( {", {Verdict::compile_error});
  expect_good(good(0));
  {
    NodeProcess host = real_node();
    EvaluationPool pool(host_.fixture.loop, {&host},
                        {.max_attempts = 6, .canaries_before_quarantine = 4, .device_limit = 20s});
    TaskGroup chaos(host_.fixture.loop);
    chaos.spawn(do_all_harm(pool));
    judge_all(pool);
    check_all();
    EXPECT_EQ(harms_, 3);
    EXPECT_GE(pool.counters().fenced, 3U);
    EXPECT_EQ(pool.counters().quarantined, 0U);
    EXPECT_GT(pool.counters().wasted.count(), 0);
  }
  expect_no_process_left();
}

TEST_F(PoolTest, a_node_that_sends_invalid_messages_is_not_used) {
  const Json hello{{"event", "hello"},
                   {"protocol", 1},
                   {"specgen_version", "broken"},
                   {"lanes", 2},
                   {"devices", {{{"id", "cpu:0"}, {"name", "broken"}}}}};
  const Json invalid{{"event", "done"}, {"job", "all of them"}, {"result", "splendid"}};
  const std::string hello_file = host_.write("hello", framed(hello));
  const std::string answer = host_.write("invalid", framed(invalid));
  const std::string broken =
      host_.folder.add("broken", "cat " + hello_file + "\nhead -c 1 >/dev/null\ncat " + answer +
                                     "\ncat >/dev/null\n");
  for (int i = 0; i < 3; ++i) expect_good(good(i));
  expect("int main( {", {Verdict::compile_error});
  {
    NodeProcess broken_node(host_.fixture.loop, host_.fixture.processes,
                            {.name = "broken", .argv = {broken}});
    NodeProcess host = real_node();
    EvaluationPool pool(host_.fixture.loop, {&broken_node, &host}, {.max_attempts = 8});
    judge_all(pool);
    check_all();
    EXPECT_GE(pool.counters().fenced, 1U);
  }
  expect_no_process_left();
}

// Uses the cache as an LLM server does, while a candidate is judged and after its device has idled.
TEST_F(PoolTest, the_memory_of_an_idle_device_is_cache_and_that_of_a_busy_one_is_not) {
  std::string path = host_.folder.path() / "kv.sock";
  NodeProcess node = real_node({"--kv", "128MiB", "--kv-listen", "unix:" + path, "--kv-job-memory",
                                "1000000GiB"});  // all that there is
  EvaluationPool pool(host_.fixture.loop, {&node}, {.offer_after = 1s});
  expect_good(good(1));
  judge_all(pool);
  check_all();
  auto engine = kv_testing::NativeClient::to_path(path);
  auto is_kept = [&] {
    EXPECT_TRUE(engine.set("prefix", std::string(1 << 20, 'x')));
    return engine.exists("prefix") == true;
  };
  const auto offers = pool.counters().offered;
  EXPECT_FALSE(is_kept()) << "the next candidate may come at once";
  for (int i = 0; i < 2000 && !is_kept(); ++i) host_.rest();
  EXPECT_TRUE(is_kept());
  EXPECT_EQ(pool.counters().offered, offers + 1);
}

}  // namespace
}  // namespace specgen
