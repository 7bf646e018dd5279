#include "compare/virtual_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compare/compare_page.h"

namespace specgen {
namespace {

const std::string kShipped = SPECGEN_SOURCE_DIR;

// The paper's scenario, small: three workflows on three devices.
VirtualSetting small_setting(std::string_view systems) {
  std::string text = read_file(kShipped + "/scenarios/paper-glm.toml").value();
  VirtualSetting setting{.scenario = parse_scenario(text, "paper-glm").value(),
                         .name = "paper-glm",
                         .source = text,
                         .systems = find_systems(systems).value()};
  setting.scenario.run.workflows = 3;
  setting.scenario.hosts = 1;
  setting.scenario.host.devices = 3;
  return setting;
}

VirtualPlan plan_of(VirtualSetting setting) {
  return {.settings = {std::move(setting)},
          .seeds = 2,
          .iterations = 20,
          .cells = {},
          .folders = {.triggers = {kShipped + "/triggers"}, .prompts = {kShipped + "/prompts"}},
          .workers = 2,
          .on_progress = {}};
}

TEST(VirtualComparison, shows_the_differences_between_systems) {
  VirtualPlan plan =
      plan_of(small_setting("alphaevolve,dispatch2,specgen,specgen-split,specgen-off"));
  ComparedScenario scenario = compare(compare_virtually(plan).value()[0]);
  auto of = [&](std::string_view system, std::string_view figure) {
    return scenario.row(system)->figure(figure).mean;
  };
  EXPECT_GT(of("alphaevolve", "wall_s"), 1.3 * of("specgen", "wall_s"));
  EXPECT_GT(of("specgen", "feedback_per_100"), 1.3 * of("alphaevolve", "feedback_per_100"));
  EXPECT_GT(of("dispatch2", "feedback_per_100"), of("specgen-off", "feedback_per_100"))
      << "two of a round count as one";
  EXPECT_GT(of("specgen", "utilization"), of("specgen-split", "utilization"));
  EXPECT_GT(of("specgen-split", "utilization"), 3 * of("alphaevolve", "utilization"));
  EXPECT_EQ(of("alphaevolve", "early_stop_share"), 0);
  EXPECT_EQ(scenario.row("dispatch2")->all.iterations, 2 * 3 * 20);
}

TEST(VirtualComparison, gives_the_same_result_on_one_thread_and_on_three) {
  VirtualPlan plan = plan_of(small_setting("specgen,cudaforge"));
  plan.workers = 1;
  std::string one = comparison_text({{compare(compare_virtually(plan).value()[0])}}, {});
  plan.workers = 3;
  EXPECT_EQ(one, comparison_text({{compare(compare_virtually(plan).value()[0])}}, {}));
}

TEST(VirtualComparison, reuses_stored_results) {
  TemporaryFolder folder = TemporaryFolder::make().value();
  VirtualPlan plan = plan_of(small_setting("cudaforge"));
  plan.cells = folder.path();
  ASSERT_TRUE(compare_virtually(plan));
  auto first = *std::filesystem::directory_iterator(folder.path());
  RunFigures stored;
  stored.iterations = 77;
  ASSERT_TRUE(write_file_durably(first.path(), compact_json(to_json(stored))));
  auto again = compare_virtually(plan).value();
  auto is_stored = [](const ComparedRun& run) { return run.figures.iterations == 77; };
  EXPECT_EQ(std::ranges::count_if(again[0].runs, is_stored), 1);
  plan.made_by = "another specgen";
  again = compare_virtually(plan).value();
  EXPECT_EQ(std::ranges::count_if(again[0].runs, is_stored), 0) << "of another specgen";
  plan.iterations = 3;
  again = compare_virtually(plan).value();
  EXPECT_EQ(std::ranges::count_if(again[0].runs, is_stored), 0) << "another comparison";
}

TEST(VirtualComparison, sweeps_change_one_setting_at_a_time) {
  VirtualSetting setting = small_setting("specgen");
  auto swept = sweep_of(setting);
  EXPECT_GE(swept.size(), 10u);
  EXPECT_EQ(swept[0].scenario.model.skill.fork_quality, 1);
  auto without = std::ranges::find(swept, "paper-glm: useless forks", &VirtualSetting::name);
  ASSERT_NE(without, swept.end());
  EXPECT_EQ(without->scenario.model.skill.fork_quality, 0);
}

TEST(ComparePage, draws_the_comparison_and_loads_nothing) {
  VirtualPlan plan = plan_of(small_setting("alphaevolve,specgen-off,specgen"));
  std::vector<ComparedScenario> rows{compare(compare_virtually(plan).value()[0])};
  std::string page = compare_page({.kind = "virtual", .title = "two <seeds>"}, rows, rows);
  EXPECT_NE(page.find("Where speculation does not pay"), std::string::npos);
  EXPECT_NE(page.find("two &lt;seeds&gt;"), std::string::npos);
  EXPECT_NE(page.find("In progress: specgen"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org")) << "nothing is loaded";
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace specgen
