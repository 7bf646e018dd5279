#include "compare/compare_page.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

RunFigures run_of(double wall_s) {
  RunFigures figures;
  figures.wall_s = wall_s;
  figures.iterations = 40;
  figures.with_feedback = 15;
  figures.best = {{wall_s, 100, 2}};
  figures.tasks = {
      {.name = "softmax", .runs = 1, .wall_s = wall_s / 2, .iterations = 20, .with_feedback = 5},
      {.name = "gelu", .runs = 1, .wall_s = wall_s, .iterations = 20, .with_feedback = 10}};
  return figures;
}

ComparedSetting setting_of(double wall_s) {
  return {.name = "paper-glm",
          .title = "fake",
          .runs = {{"alphaevolve", 1, run_of(2 * wall_s)},
                   {"alphaevolve", 2, run_of(4 * wall_s)},
                   {"alphaevolve+spec", 1, run_of(wall_s)},
                   {"specgen", 1, run_of(wall_s)},
                   {"specgen-off", 1, run_of(wall_s)}}};
}

std::string page_of(const ComparedSetting& setting) {
  std::vector<ComparedScenario> scenarios{compare(setting)};
  return compare_page({.kind = "virtual", .title = "fake"}, scenarios, {});
}

TEST(ComparePage, shows_time_in_a_unit_that_fits_the_longest) {
  std::string page = page_of(setting_of(25));
  EXPECT_TRUE(page.contains(">75 s<")) << "the mean of 50 and 100 s";
  EXPECT_TRUE(page.contains(">s</text>")) << "the axis of speedups";
  page = page_of(setting_of(240));
  EXPECT_TRUE(page.contains(">12 min<"));
  EXPECT_TRUE(page.contains(">min</text>"));
  page = page_of(setting_of(36'000));
  EXPECT_TRUE(page.contains(">30 h<"));
  EXPECT_TRUE(page.contains(">h</text>"));
}

TEST(ComparePage, shows_published_figures_beside_measured_ones) {
  std::string page = page_of(setting_of(25));
  EXPECT_TRUE(page.contains("published 1.68–1.82×")) << "of time";
  EXPECT_TRUE(page.contains("published 1.24–1.91×")) << "of kernels";
  EXPECT_TRUE(page.contains("published 1.78×")) << "of feedback, one number";
  ComparedSetting other = setting_of(25);
  other.name = "native";
  EXPECT_FALSE(page_of(other).contains("published 1"));
}

TEST(ComparePage, draws_time_and_feedback_of_each_task_but_not_for_variations) {
  std::string page = page_of(setting_of(25));
  EXPECT_TRUE(page.contains("<title>softmax, alphaevolve: 37.5 s</title>")) << "the mean of seeds";
  EXPECT_TRUE(page.contains("<title>gelu, specgen: 25 s</title>"));
  EXPECT_TRUE(page.contains("<title>softmax, specgen: 25 </title>")) << "of 100";
  EXPECT_TRUE(page.contains("<title>gelu, alphaevolve: 50 </title>"));
  EXPECT_FALSE(page.contains("gelu, specgen-off"));
  EXPECT_FALSE(page.contains("gelu, alphaevolve+spec"));
}

TEST(ComparePage, draws_the_first_of_many_tasks_and_says_so) {
  ComparedSetting setting = setting_of(25);
  for (ComparedRun& run : setting.runs) {
    for (int i = 2; i < 20; ++i) {
      run.figures.tasks.push_back(run.figures.tasks[0]);
      run.figures.tasks.back().name = "more" + std::to_string(i);
    }
  }
  std::string page = page_of(setting);
  EXPECT_TRUE(page.contains("The first 12 of 20 tasks."));
  EXPECT_TRUE(page.contains("more11, specgen"));
  EXPECT_FALSE(page.contains("more12, specgen"));
}

TEST(ComparePage, draws_no_tasks_where_figures_have_none) {
  ComparedSetting setting = setting_of(25);
  for (ComparedRun& run : setting.runs) run.figures.tasks.clear();
  EXPECT_FALSE(page_of(setting).contains("Task by task"));
}

// Whether anything is clipped in a browser: tests/report/page_layout_test.cc.
TEST(ComparePage, tables_and_pictures_are_inside_elements_that_scroll) {
  std::vector<ComparedScenario> scenarios{compare(setting_of(25))};
  std::string page = compare_page({.kind = "virtual", .title = "fake"}, scenarios, scenarios);
  EXPECT_TRUE(page.contains(".scroll { overflow-x: auto; }"));
  for (const char* tag : {"<table", "<svg"}) {
    ASSERT_TRUE(page.contains(tag));
    for (std::size_t at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1)) {
      EXPECT_TRUE(page.substr(0, at).ends_with("<div class=\"scroll\">")) << page.substr(at, 80);
    }
  }
}

}  // namespace
}  // namespace specgen
