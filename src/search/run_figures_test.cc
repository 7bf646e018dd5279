#include "search/run_figures.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

using std::chrono::seconds;

// A state by hand: what a journal would fold to.
struct MadeRun {
  MadeRun() {
    state.run.tasks = {{.name = "softmax"}, {.name = "gelu"}};
    state.tasks.resize(2);
  }

  void iteration(std::uint64_t id, std::uint32_t task, IterationEnd end, std::uint32_t feedback) {
    IterationState made{.begun = {.id = {id}, .task = task, .role = "writer"}};
    made.ended = IterationEnded{.id = {id}, .end = end, .tokens = 100, .saved_tokens = 300};
    made.feedback = feedback;
    state.iterations[{id}] = made;
    state.tasks[task].iterations.push_back({id});
  }
  void call(std::uint64_t id, std::uint64_t iteration, std::string purpose, Duration sent,
            Duration ended) {
    CallState made{.sent = {.id = id, .iteration = {iteration}, .purpose = std::move(purpose)}};
    made.done =
        CallDone{.id = id,
                 .usage = {.prompt_tokens = 50, .cached_tokens = 40, .completion_tokens = 90},
                 .sent = sent,
                 .ended = ended};
    state.calls[id] = made;
    state.last_at = std::max(state.last_at, ended);
  }
  void candidate(std::uint64_t id, std::uint64_t iteration, std::uint32_t task, double speedup,
                 Duration at, bool repeated = false) {
    CandidateState made{.found = {.id = {id}, .iteration = {iteration}, .at = at - seconds(5)}};
    made.judged = CandidateJudged{.id = {id},
                                  .verdict = Verdict::ok,
                                  .speedup = {speedup, speedup, speedup},
                                  .profiled = true,
                                  .repeated = repeated,
                                  .at = at};
    made.judged->spans = {{.stage = Stage::compile,
                           .device = "compile",
                           .started = Time(at - seconds(5)),
                           .ended = Time(at - seconds(4))},
                          {.stage = Stage::profile,
                           .device = "cpu:0",
                           .queued = Time(at - seconds(4)),
                           .started = Time(at - seconds(3)),
                           .ended = Time(at)}};
    state.candidates[{id}] = made;
    if (!repeated) state.tasks[task].confirmed.push_back({id});
    state.last_at = std::max(state.last_at, at);
  }

  RunState state;
};

MadeRun made_run() {
  MadeRun run;
  run.iteration(1, 0, IterationEnd::answered, 1);
  run.iteration(2, 0, IterationEnd::stopped, 1);
  run.iteration(3, 1, IterationEnd::no_kernel, 0);
  run.iteration(4, 1, IterationEnd::interrupted, 0);
  run.call(1, 1, "main", seconds(0), seconds(90));
  run.call(2, 2, "main", seconds(100), seconds(140));
  run.call(3, 2, "fork", seconds(110), seconds(120));
  run.candidate(1, 1, 0, 2.0, seconds(100));
  run.candidate(2, 2, 0, 8.0, seconds(140));
  run.candidate(3, 2, 0, 8.0, seconds(200), true);
  return run;
}

TEST(FiguresOfARun, count_iterations_and_what_came_of_them) {
  RunFigures figures = figures_of(made_run().state, 2);
  EXPECT_EQ(figures.iterations, 3) << "what was interrupted is none";
  EXPECT_EQ(figures.with_feedback, 2);
  EXPECT_EQ(figures.failed, 1);
  EXPECT_EQ(figures.early_stops, 1);
  EXPECT_EQ(figures.stops, std::vector<double>{0.25});
  EXPECT_DOUBLE_EQ(figures.feedback_per_100(), 100.0 * 2 / 3);
}

TEST(FiguresOfARun, take_a_restarted_stream_together_with_what_follows) {
  MadeRun run;
  run.iteration(1, 0, IterationEnd::restarted, 0);
  run.iteration(2, 0, IterationEnd::restarted, 1);
  run.iteration(3, 0, IterationEnd::abandoned, 0);
  run.iteration(4, 0, IterationEnd::restarted, 0);
  run.iteration(5, 0, IterationEnd::no_kernel, 0);
  RunFigures figures = figures_of(run.state, 2);
  EXPECT_EQ(figures.iterations, 2);
  EXPECT_EQ(figures.with_feedback, 1) << "that of an abandoned generation counts when it comes";
}

TEST(FiguresOfARun, take_generations_of_a_round_together) {
  RunFigures figures = figures_of(made_run().state, 2, 2);
  EXPECT_EQ(figures.iterations, 2) << "one round of each task, the second cut short";
  EXPECT_EQ(figures.with_feedback, 1);
}

TEST(FiguresOfARun, count_device_time_once_for_equal_candidates) {
  RunFigures figures = figures_of(made_run().state, 2);
  EXPECT_DOUBLE_EQ(figures.wall_s, 200);
  EXPECT_DOUBLE_EQ(figures.device_s, 400);
  EXPECT_DOUBLE_EQ(figures.useful_device_s, 6) << "compile slots are no devices";
  EXPECT_EQ(figures.profiled, 2);
  EXPECT_EQ(figures.waits_s, (std::vector<double>{5, 5}));
}

TEST(FiguresOfARun, count_tokens_that_no_cache_held) {
  RunFigures figures = figures_of(made_run().state, 2);
  EXPECT_EQ(figures.tokens, 300);
  EXPECT_EQ(figures.fork_tokens, 100);
}

TEST(FiguresOfARun, know_the_best_at_any_time_and_price) {
  RunFigures figures = figures_of(made_run().state, 2);
  ASSERT_EQ(figures.best.size(), 2u);
  EXPECT_DOUBLE_EQ(figures.best_at_time(99), 1);
  EXPECT_DOUBLE_EQ(figures.best_at_time(100), std::sqrt(2.0)) << "the other task counts 1";
  EXPECT_DOUBLE_EQ(figures.best_speedup(), std::sqrt(8.0));
  EXPECT_EQ(figures.best[0].tokens, 100);
  EXPECT_EQ(figures.best[1].tokens, 300);
  EXPECT_DOUBLE_EQ(figures.best_at_tokens(299), std::sqrt(2.0));
}

TEST(FiguresOfARun, know_how_much_of_an_iteration_the_model_took) {
  RunFigures figures = figures_of(made_run().state, 2);
  EXPECT_EQ(figures.shares.size(), 2u);
  EXPECT_DOUBLE_EQ(figures.shares.front(), 0.4) << "100 s until its kernel was judged";
}

TEST(FiguresOfARun, know_what_came_of_each_task) {
  MadeRun run = made_run();
  run.call(4, 3, "main", seconds(10), seconds(60));
  RunFigures figures = figures_of(run.state, 2);
  ASSERT_EQ(figures.tasks.size(), 2u);
  const TaskFigures &softmax = figures.tasks[0], &gelu = figures.tasks[1];
  EXPECT_EQ(softmax.name, "softmax");
  EXPECT_EQ(softmax.runs, 1);
  EXPECT_DOUBLE_EQ(softmax.wall_s, 200) << "its last verdict";
  EXPECT_EQ(softmax.iterations, 2);
  EXPECT_EQ(softmax.with_feedback, 2);
  EXPECT_EQ(gelu.name, "gelu");
  EXPECT_DOUBLE_EQ(gelu.wall_s, 60) << "it wrote no kernel";
  EXPECT_EQ(gelu.iterations, 1) << "what was interrupted is none";
  EXPECT_EQ(gelu.with_feedback, 0);
}

TEST(FiguresOfARun, are_summed_up_task_by_task) {
  MadeRun longer = made_run();
  longer.call(4, 1, "main", seconds(10), seconds(300));
  longer.iteration(5, 0, IterationEnd::no_kernel, 0);
  longer.iteration(6, 0, IterationEnd::no_kernel, 0);
  RunFigures all;
  add(all, figures_of(made_run().state, 2));
  add(all, figures_of(longer.state, 2));
  ASSERT_EQ(all.tasks.size(), 2u);
  EXPECT_EQ(all.tasks[0].runs, 2);
  EXPECT_DOUBLE_EQ(all.tasks[0].mean_wall_s(), 250);
  EXPECT_DOUBLE_EQ(all.tasks[0].feedback_per_100(), 100.0 * 4 / 6);
  EXPECT_DOUBLE_EQ(TaskFigures{}.mean_wall_s(), 0);
}

TEST(FiguresOfARun, survive_being_written_down) {
  RunFigures figures = figures_of(made_run().state, 2);
  Json json = to_json(figures);
  auto read = run_figures_from(parse_json(compact_json(json)).value());
  ASSERT_TRUE(read);
  EXPECT_EQ(compact_json(to_json(*read)), compact_json(json));
  ASSERT_EQ(read->tasks.size(), 2u);
  EXPECT_EQ(read->tasks[0].name, "softmax");
  json.as_object()["tasks"] = boost::json::array{1};
  EXPECT_FALSE(run_figures_from(json));
  json.as_object().erase("tasks");
  read = run_figures_from(json);
  ASSERT_TRUE(read) << "written before there were any";
  EXPECT_TRUE(read->tasks.empty());
  EXPECT_FALSE(run_figures_from(Json()));
  json.as_object()["best"] = boost::json::array{boost::json::array{1, 2}};
  EXPECT_FALSE(run_figures_from(json));
}

}  // namespace
}  // namespace specgen
