#include "speculate/trigger_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "generate/author/decisions_text.h"
#include "generate/author/kernel_plan.h"
#include "generate/author/reasoning.h"
#include "generate/reasoning_trace.h"
#include "speculate/triggers.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
const fs::path kShipped = fs::path(SPECGEN_SOURCE_DIR) / "triggers";

std::string error_in(std::string_view toml) {
  auto set = parse_trigger_set(toml, "x.toml");
  if (set) return "accepted";
  EXPECT_EQ(set.error().code, ErrorCode::bad_triggers);
  return set.error().context;
}

constexpr std::string_view kGood = R"(
family = "x"
models = ["x-", "Why"]
interval_tokens = 500
interval_weight = 0.25
[[pattern]]
name = "go"
regex = 'go with '
category = "decision_made"
cut = "after_paragraph"
weight = 0.75
match_case = true
[[pattern]]
name = "wait"
regex = '\nwait'
category = "change_of_mind"
)";

TEST(TriggerSet, is_read_from_toml) {
  auto set = parse_trigger_set(kGood, "x.toml");
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ(set->family, "x");
  EXPECT_EQ(set->interval_tokens, 500);
  EXPECT_EQ(set->interval_weight, 0.25);
  ASSERT_EQ(set->patterns.size(), 2U);
  EXPECT_EQ(set->patterns[0].cut, CutRule::after_paragraph);
  EXPECT_EQ(set->patterns[0].weight, 0.75);
  EXPECT_TRUE(set->patterns[0].match_case);
  EXPECT_EQ(set->patterns[1].category, TriggerCategory::change_of_mind);
  EXPECT_EQ(set->patterns[1].cut, CutRule::after_line);
}

TEST(TriggerSet, an_error_names_file_and_line) {
  const std::string head = "family = 'x'\n[[pattern]]\nname = 'p'\ncategory = 'decision_made'\n";
  EXPECT_EQ(error_in(head + "regex = 'a+'"),
            "x.toml:5: pattern 'p': a+: + has no bound; write for example {1,8}");
  EXPECT_EQ(error_in(head + "regex = 'a'\ncut = 'after_lines'"),
            "x.toml:6: 'after_lines' is none of before_match, after_match, after_line, "
            "after_paragraph; did you mean 'after_line'?");
  EXPECT_EQ(error_in(head + "regex = 'a'\nweight = 2"), "x.toml:6: a weight is between 0 and 1");
  EXPECT_EQ(error_in(head + "regexp = 'a'").substr(0, 9), "x.toml:2:");
  EXPECT_EQ(error_in("interval_tokens = 5").substr(0, 7), "x.toml:");
  EXPECT_EQ(error_in("family = 'x'\ninterval_tokens = -1"),
            "x.toml:2: it is not between 0 and 1000000");
  EXPECT_EQ(error_in(head + "regex='a'\n[[pattern]]\nname='p'\nregex='b'\ncategory='interval'")
                .substr(0, 24),
            "x.toml:9: 'interval' is ");
  EXPECT_EQ(error_in(head + "regex='a'\n[[pattern]]\nname='p'\nregex='b'\ncategory='check_passed'"),
            "x.toml:7: there is another pattern 'p'");
  EXPECT_NE(error_in("family = "), "accepted");
}

class TriggerFolders : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
  }
  std::string family(std::string_view model) {
    auto set = find_trigger_set({folder_.path()}, model);
    return set ? set->family : set.error().context;
  }
  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

constexpr std::string_view kPattern =
    "[[pattern]]\nname='p'\nregex='a'\ncategory='decision_made'\n";

TEST_F(TriggerFolders, a_model_finds_its_family) {
  write("any.toml", "family='any'\n");
  write("big.toml", "family='big'\nmodels=['Big']\n");
  write("bigger.toml", "family='bigger'\nmodels=['big-r']\n");
  write("readme.txt", "not a set");
  EXPECT_EQ(family("org/BIG-2"), "big");
  EXPECT_EQ(family("org/big-r1"), "bigger");
  EXPECT_EQ(family("small"), "any");
  EXPECT_EQ(family(""), "any");
}

TEST_F(TriggerFolders, the_first_folder_wins) {
  write("any.toml", "family='any'\n");
  TemporaryFolder own = TemporaryFolder::make().value();
  std::ofstream(own.path() / "glm.toml") << "family='mine'\nmodels=['glm']\n";
  auto set = find_trigger_set({own.path(), folder_.path(), kShipped}, "GLM-5.1");
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_EQ(set->family, "mine");
}

TEST_F(TriggerFolders, a_set_adds_to_any_and_replaces_by_name) {
  write("any.toml", "family='any'\ninterval_tokens=9\n" + std::string(kPattern) +
                        "[[pattern]]\nname='q'\nregex='b'\ncategory='check_passed'\n");
  write("x.toml",
        "family='x'\nmodels=['x']\nadds_to_any=true\n" + std::string(kPattern) + "weight=0\n");
  auto set = find_trigger_set({folder_.path()}, "x");
  ASSERT_TRUE(set) << set.error().text();
  ASSERT_EQ(set->patterns.size(), 2U);
  EXPECT_EQ(set->patterns[0].weight, 0);
  EXPECT_EQ(set->patterns[1].name, "q");
  EXPECT_EQ(set->interval_tokens, 9);
}

TEST_F(TriggerFolders, a_missing_set_any_is_an_error) {
  write("x.toml", "family='x'\nmodels=['x']\nadds_to_any=true\n");
  EXPECT_EQ(family("y"), "there is no set for 'y', and none for 'any' model");
  EXPECT_TRUE(family("x").contains("the set 'any' that it adds to is not in "));
}

TEST_F(TriggerFolders, a_broken_file_is_an_error) {
  write("any.toml", "family='any'\n");
  write("x.toml", "family=");
  EXPECT_TRUE(family("y").contains("x.toml:1"));
}

TEST(ShippedTriggers, compile) {
  for (const char* model : {"unknown", "GLM-5.1", "DeepSeek-V4-Pro", "Qwen3-235B", "kimi-k2",
                            "gpt-oss-120b", "author"}) {
    auto set = find_trigger_set({kShipped}, model);
    ASSERT_TRUE(set) << set.error().text();
    EXPECT_GE(set->patterns.size(), 6U);
    EXPECT_TRUE(Triggers::compile(*set)) << model;
  }
}

// The author's decisions are known to the byte: the prefix of a fork must contain them.
TEST(ShippedTriggers, fire_at_the_decisions_of_the_author) {
  auto triggers = Triggers::compile(find_trigger_set({kShipped}, "author").value()).value();
  for (const char* backend : {"cpu", "cuda"}) {
    const KernelPlan* plan = find_plan("softmax", backend);
    ASSERT_TRUE(plan);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      PromptContext context{.task = "softmax", .backend = backend, .seed = seed};
      ReasoningTrace trace;
      trace.add(
          Delta{.kind = DeltaKind::reasoning,
                .text = reason_about_kernel({context, *plan, 0.3, seed}, AuthorOptions()) + "\n\n",
                .token_ids = {}});
      const std::string& text = trace.text();
      TriggerScanner scanner(*triggers);
      std::vector<Trigger> found;
      scanner.feed(text, found);
      // After each paragraph that makes a decision there is a cut whose prefix contains it.
      Decisions made;
      std::size_t decisions = 0;
      for (std::size_t end = text.find("\n\n"); end != std::string::npos;
           end = text.find("\n\n", end + 2)) {
        Decisions now = read_conclusions(*plan, std::string_view(text).substr(0, end)).made;
        if (now == made) continue;
        made = now;
        ++decisions;
        bool is_cut = std::ranges::any_of(found, [&](const Trigger& trigger) {
          if (trigger.offset < end || trigger.offset > end + 2) return false;
          std::size_t cut = trace.safe_cut(trigger.offset);
          return read_conclusions(*plan, std::string_view(text).substr(0, cut)).made == now;
        });
        EXPECT_TRUE(is_cut) << text.substr(end > 200 ? end - 200 : 0, 200);
      }
      EXPECT_GT(decisions, 1U);
    }
  }
}

}  // namespace
}  // namespace specgen
