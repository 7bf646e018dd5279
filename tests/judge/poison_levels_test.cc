// Every hostile candidate at every level of the sandbox that this host offers.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "support/harmless.h"

namespace specgen {
namespace {

// Determined once per level.
bool is_allowed_here(const std::string& level) {
  static std::map<std::string, bool> known;
  if (auto found = known.find(level); found != known.end()) return found->second;
  std::vector<Adversary> all = adversaries("poison", ".cc");
  ToolFixture fixture;
  Judged judged = judge(fixture, *std::ranges::find(all, "syntax_error", &Adversary::name), "cpu:0",
                        {"--sandbox-at-most", level});
  return known[level] = text_at(judged.evaluation, "sandbox") == level;
}

using LevelAndPoison = std::tuple<std::string, Adversary>;
class PoisonAtLevel : public testing::TestWithParam<LevelAndPoison> {};

TEST_P(PoisonAtLevel, does_no_harm) {
  const auto& [level, adversary] = GetParam();
  if (!is_allowed_here(level)) GTEST_SKIP() << "NOT CHECKED: this host does not offer " << level;
  ToolFixture fixture;
  expect_harmless(fixture, adversary, {"--sandbox-at-most", level});
}
INSTANTIATE_TEST_SUITE_P(Files, PoisonAtLevel,
                         testing::Combine(testing::Values("L1", "L2"),
                                          testing::ValuesIn(adversaries("poison", ".cc"))),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace specgen
