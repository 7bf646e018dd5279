#include "compare/comparison.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

RunFigures run_of(double wall_s, std::int64_t with_feedback, std::int64_t tokens, double best) {
  RunFigures figures;
  figures.wall_s = wall_s;
  figures.iterations = 100;
  figures.with_feedback = with_feedback;
  figures.tokens = tokens;
  // Better at half of its time and tokens, best at the end.
  figures.best = {{wall_s / 2, tokens / 2, best / 2}, {wall_s, tokens, best}};
  return figures;
}

ComparedSetting fake_setting() {
  return {.name = "paper-glm",
          .title = "fake",
          .runs = {{"alphaevolve", 1, run_of(200, 40, 1000, 4)},
                   {"alphaevolve", 2, run_of(240, 44, 1000, 4)},
                   {"specgen", 1, run_of(100, 80, 500, 6)},
                   {"specgen", 2, run_of(100, 80, 600, 6)}}};
}

TEST(Comparison, has_a_row_for_each_system_with_mean_and_spread_over_seeds) {
  ComparedScenario scenario = compare(fake_setting());
  ASSERT_EQ(scenario.rows.size(), 2u);
  const ComparisonRow& row = *scenario.row("alphaevolve");
  EXPECT_EQ(row.seeds, 2u);
  EXPECT_DOUBLE_EQ(row.figure("wall_s").mean, 220);
  EXPECT_DOUBLE_EQ(row.figure("wall_s").low, 200);
  EXPECT_DOUBLE_EQ(row.figure("wall_s").high, 240);
  EXPECT_EQ(scenario.row("cudaforge"), nullptr);
}

TEST(Comparison, computes_the_gain_of_specgen_over_each_at_the_same_seed) {
  ComparedScenario scenario = compare(fake_setting());
  const ComparisonRow& row = *scenario.row("alphaevolve");
  EXPECT_DOUBLE_EQ(row.lift("wall_lift")->low, 2.0);
  EXPECT_DOUBLE_EQ(row.lift("wall_lift")->high, 2.4);
  EXPECT_DOUBLE_EQ(row.lift("feedback_lift")->high, 2.0);
  EXPECT_DOUBLE_EQ(scenario.row("specgen")->lift("wall_lift")->mean, 1);
}

TEST(Comparison, compares_kernels_at_equal_time_and_equal_tokens) {
  ComparedScenario scenario = compare(fake_setting());
  const ComparisonRow& row = *scenario.row("alphaevolve");
  EXPECT_DOUBLE_EQ(row.figure("best_speedup_equal_time").high, 2) << "of seed 1, at 100 s";
  EXPECT_DOUBLE_EQ(row.figure("best_speedup_equal_time").low, 1) << "of seed 2, at 100 s of 240";
  EXPECT_DOUBLE_EQ(row.figure("best_speedup_equal_tokens").mean, 2);
  EXPECT_DOUBLE_EQ(row.lift("equal_tokens_lift")->mean, 3);
}

TEST(Comparison, without_specgen_there_are_no_gains) {
  ComparedSetting setting = fake_setting();
  setting.runs.resize(2);
  EXPECT_TRUE(compare(setting).rows[0].lifts.empty());
}

TEST(Comparison, includes_what_the_paper_published) {
  ComparedScenario scenario = compare(fake_setting());
  Json json = comparison_json({.kind = "virtual", .title = "fake"}, {{scenario}}, {});
  const auto& row = json.at("scenarios").at(0).at("rows").at(0);
  EXPECT_DOUBLE_EQ(row.at("paper").at("feedback_per_100").at("low").to_number<double>(), 42.5);
  ComparedSetting other = fake_setting();
  other.name = "native";
  EXPECT_TRUE(compare(other).rows[0].paper.empty());
}

TEST(Comparison, is_printed_as_a_table) {
  ComparedScenario scenario = compare(fake_setting());
  std::string text = comparison_text({{scenario}}, {});
  EXPECT_NE(text.find("alphaevolve"), std::string::npos);
  EXPECT_NE(text.find("2.20"), std::string::npos) << text;
}

}  // namespace
}  // namespace specgen
