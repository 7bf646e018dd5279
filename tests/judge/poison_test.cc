// Hostile candidates (tests/poison) that attack the machine, the judge or the compiler. Each gets
// the verdict named in its file, in time, leaves no process behind and does not affect the next
// candidate.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "support/harmless.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

std::string name_of(const testing::TestParamInfo<Adversary>& info) {
  return info.param.name;
}

void expect_that_correct_kernels_still_pass(ToolFixture& fixture) {
  Adversary correct{.file = fs::path(SPECGEN_SOURCE_DIR) / "tasks/softmax/baseline.cc",
                    .name = "baseline",
                    .what = "a correct kernel",
                    .task = "tasks/softmax",
                    .verdicts = {"ok", "unstable_timing"}};
  expect_allowed(judge(fixture, correct, "cpu:0"), correct);
}

class PoisonedCandidate : public testing::TestWithParam<Adversary> {};
TEST_P(PoisonedCandidate, does_no_harm) {
  ToolFixture fixture;
  expect_harmless(fixture, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, PoisonedCandidate, testing::ValuesIn(adversaries("poison", ".cc")),
                         name_of);

const Adversary& named(const std::vector<Adversary>& all, std::string_view name) {
  auto found = std::ranges::find(all, name, &Adversary::name);
  SG_ASSERT(found != all.end(), "there is such a file");
  return *found;
}

TEST(Poisons, are_many) {
  EXPECT_GE(adversaries("poison", ".cc").size(), 20U);
}

TEST(Poisons, do_not_affect_the_next_evaluation) {
  std::vector<Adversary> all = adversaries("poison", ".cc");
  ToolFixture fixture;
  for (const char* name : {"fork_bomb", "kills_all", "stops_itself", "sleeps_for_ever",
                           "closes_everything", "smashes_stack", "output_flood"}) {
    expect_harmless(fixture, named(all, name));
  }
  expect_that_correct_kernels_still_pass(fixture);
}

class WeakSandbox : public testing::TestWithParam<std::string> {};
TEST_P(WeakSandbox, contains_some_poisons_too) {
  std::vector<Adversary> all = adversaries("poison", ".cc");
  const std::vector<std::string> flags{"--sandbox-at-most", GetParam()};
  ToolFixture fixture;
  Judged level = judge(fixture, named(all, "syntax_error"), "cpu:0", flags);
  if (text_at(level.evaluation, "sandbox") != GetParam()) {
    GTEST_SKIP() << "NOT CHECKED: this host does not allow " << GetParam() << ": " << level.output;
  }
  for (const char* name : {"fork_bomb", "kills_all", "kills_parent", "daemon", "stops_itself",
                           "endless_loop", "endless_recursion", "output_flood", "huge_table"}) {
    SCOPED_TRACE(name);
    expect_harmless(fixture, named(all, name), flags);
  }
  expect_that_correct_kernels_still_pass(fixture);
}
INSTANTIATE_TEST_SUITE_P(Levels, WeakSandbox, testing::Values("L1", "L2"),
                         [](const auto& info) { return info.param; });

// Sources that are generated, not stored.
class GeneratedSource : public testing::Test {
 protected:
  void expect_rejected(std::string_view text) {
    fs::path file = folder_.path() / "candidate.cc";
    ASSERT_TRUE(write_file_durably(file, text));
    expect_harmless(fixture_, {.file = file,
                               .name = "candidate",
                               .what = "made",
                               .task = "tasks/softmax",
                               .verdicts = {"rejected"}});
  }
  FakeTools folder_;
  ToolFixture fixture_;
};

TEST_F(GeneratedSource, of_ten_megabytes_is_rejected) {
  std::string text = "#include <cstdint>\n";
  while (text.size() < (10U << 20U))
    text += "static const int64_t kNumber = 1;  // again and again\n";
  expect_rejected(text);
}

TEST_F(GeneratedSource, of_binary_garbage_is_rejected) {
  std::string text;
  for (unsigned i = 0; i < 4096; ++i) text += static_cast<char>(i * 167U + (i >> 3U));
  expect_rejected(text);
}

TEST_F(GeneratedSource, with_a_nul_byte_is_rejected) {
  expect_rejected(std::string_view("int a;\0#include \"/etc/passwd\"\n", 30));
}

TEST_F(GeneratedSource, that_is_empty_is_rejected) {
  expect_rejected("");
}

TEST_F(GeneratedSource, of_directives_only_is_rejected_or_lacks_its_function) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "// specgen:tune A = 1, 2, 3, 4\n";
  expect_rejected(text);
}

}  // namespace
}  // namespace specgen
