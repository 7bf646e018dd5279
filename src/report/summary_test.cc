#include "report/summary.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "report/fake_run.h"

namespace specgen {
namespace {

RunState some_run() {
  FakeRun run({{"softmax:f16", "tasks/softmax:f16", "cuda"}, {"gelu", "tasks/gelu", "cpu"}});
  IterationId id = run.iteration();
  CandidateId fork = run.candidate(id, Origin::fork, "a", 2);
  run.confirm(fork, 1.84, 6);
  run.candidate(id, Origin::harvest, "b", 3);
  run.end(id, IterationEnd::stopped, fork, 400);
  run.add(run_ended_entry("iterations"));
  return run.data().state;
}

TEST(Summary, the_document_has_a_row_for_each_task) {
  RunState state = some_run();
  Json document = boost::json::object{};
  add_summary(document, state, speculation_ledger(state), "runs/a");
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

TEST(Summary, the_table_shows_what_won_and_what_has_nothing) {
  RunState state = some_run();
  std::string text = summary_text(state, speculation_ledger(state), "runs/a", false);
  EXPECT_TRUE(text.contains("1.84x")) << text;
  EXPECT_TRUE(text.contains("none")) << text;
  EXPECT_TRUE(text.contains("ended by iterations")) << text;
  EXPECT_FALSE(text.contains('\x1b'));
  EXPECT_TRUE(summary_text(state, speculation_ledger(state), "runs/a", true).contains('\x1b'));
}

TEST(Summary, the_best_file_is_named_as_the_task_and_stays_in_the_run) {
  EXPECT_EQ(best_file("runs/a", {"softmax:f16", "", "cuda"}, false), "runs/a/best/softmax_f16.cu");
  EXPECT_EQ(best_file("runs/a", {"../../etc/x", "", "cpu"}, false), "runs/a/best/.._.._etc_x.cc");
  EXPECT_EQ(best_file("runs/a", {"relu", "", "cuda"}, true), "runs/a/best/relu.py");
}

}  // namespace
}  // namespace specgen
