#include "report/summary.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/fake_run.h"

namespace specgen {
namespace {

RunData some_run() {
  FakeRun run({{"softmax:f16", "tasks/softmax:f16", "cuda"}, {"gelu", "tasks/gelu", "cpu"}});
  IterationId id = run.iteration();
  CandidateId fork = run.candidate(id, Origin::fork, "a", 2);
  run.confirm(fork, 1.84, 6);
  run.candidate(id, Origin::harvest, "b", 3);
  run.end(id, IterationEnd::stopped, fork, 400);
  run.add(run_ended_entry("iterations"));
  RunData data = run.data();
  data.folder = "runs/a";
  return data;
}

TEST(Summary, the_document_has_a_row_for_each_task) {
  RunData run = some_run();
  Json document = boost::json::object{};
  add_summary(document, run, speculation_ledger(run.state));
  const auto& tasks = document.at("tasks").as_array();
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_DOUBLE_EQ(number_at(tasks[0].at("best").at("speedup"), "median"), 1.84);
  EXPECT_EQ(int_at(tasks[0], "forks"), 1);
  EXPECT_EQ(int_at(tasks[0], "harvested"), 1);
  EXPECT_EQ(int_at(tasks[0], "early_stops"), 1);
  EXPECT_EQ(int_at(tasks[0], "feedback"), 1);
  EXPECT_TRUE(tasks[1].at("best").is_null());
  EXPECT_EQ(text_at(document, "state"), "ended");
  EXPECT_EQ(int_at(document.at("tokens"), "saved"), 400);
}

TEST(Summary, the_table_shows_winners_and_tasks_without_one) {
  RunData run = some_run();
  std::string text = summary_text(run, speculation_ledger(run.state), false);
  EXPECT_TRUE(text.contains("1.84x")) << text;
  EXPECT_TRUE(text.contains("none")) << text;
  EXPECT_TRUE(text.contains("gelu has no result: no iteration has ended yet")) << text;
  EXPECT_TRUE(text.contains("ended by iterations")) << text;
  EXPECT_FALSE(text.contains('\x1b'));
  EXPECT_TRUE(summary_text(run, speculation_ledger(run.state), true).contains('\x1b'));
}

TEST(Summary, the_best_file_is_named_after_the_task_and_is_inside_the_run) {
  EXPECT_EQ(best_file("runs/a", {"softmax:f16", "", "cuda"}, false), "runs/a/best/softmax_f16.cu");
  EXPECT_EQ(best_file("runs/a", {"../../etc/x", "", "cpu"}, false), "runs/a/best/.._.._etc_x.cc");
  EXPECT_EQ(best_file("runs/a", {"relu", "", "cuda"}, true), "runs/a/best/relu.py");
}

TEST(Summary, the_state_of_a_run_is_running_interrupted_or_ended) {
  RunData run = some_run();
  auto state_of = [&] {
    Json document = boost::json::object{};
    add_summary(document, run, speculation_ledger(run.state));
    return text_at(document, "state");
  };
  EXPECT_EQ(state_of(), "ended");
  run.state.ended.clear();
  EXPECT_EQ(state_of(), "interrupted");
  EXPECT_TRUE(summary_text(run, speculation_ledger(run.state), false).contains("--resume"));
  run.is_running = true;
  EXPECT_EQ(state_of(), "running");
  EXPECT_TRUE(summary_text(run, speculation_ledger(run.state), false).contains("still running"));
}

}  // namespace
}  // namespace specgen
