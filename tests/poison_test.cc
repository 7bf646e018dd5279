// Candidates that do harm: to the machine, to the judge, to the compiler. Each gets exactly the
// verdict that stands in it, in time; nothing of it survives, and who comes next notices nothing.

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "adversary.h"
#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

std::string name_of(const testing::TestParamInfo<Adversary>& info) {
  return info.param.name;
}

// A compiler is stopped by its limit on memory or time, and filling memory takes a while.
double most_seconds(const Adversary& adversary) {
  return adversary.verdict == "compile_error" ? 90 : 30;
}

std::string unique_marker() {
  static int count = 0;
  return "SPECGEN_POISON_MARKER=" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

std::vector<std::string> numbered_processes() {
  std::vector<std::string> numbers;
  std::error_code trouble;
  for (const auto& entry : fs::directory_iterator("/proc", trouble)) {
    std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) numbers.push_back(name);
  }
  return numbers;
}

// Who has the marker in its environment, or is a child (of a child) of this test. In the sandbox
// the environment is another, and the pid namespace ends with its first process: what is left of a
// box can only hang on us.
std::vector<std::string> survivors(const std::string& marker) {
  std::vector<std::string> found;
  std::map<std::string, std::string> parents;
  for (const std::string& number : numbered_processes()) {
    const std::string folder = "/proc/" + number;
    std::string stat = read_file(folder + "/stat").value_or("");
    std::size_t end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos) continue;  // it has just ended
    auto fields = split(std::string_view(stat).substr(end_of_name + 2), ' ');
    if (fields.size() < 2 || fields[0] == "Z") continue;
    parents[number] = std::string(fields[1]);
    if (read_file(folder + "/environ").value_or("").contains(marker)) found.push_back(stat);
  }
  const std::string self = std::to_string(::getpid());
  for (const auto& [number, parent] : parents) {
    std::string at = parent;
    for (int steps = 0; steps < 64 && at != self && parents.contains(at); ++steps) at = parents[at];
    if (at == self) found.push_back("process " + number);
  }
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

void expect_harmless(TestWorld& world, const Adversary& adversary,
                     const std::vector<std::string>& flags = {}) {
  ASSERT_EQ(adversary.problem, "");
  const std::string marker = unique_marker();
  Judged judged = judge(world, adversary, "cpu:0", flags, {marker});
  EXPECT_EQ(judged.verdict(), adversary.verdict) << judged.said;
  expect_well_told(judged);
  const Json* timings = member_at(judged.evaluation, "timings_ms");
  ASSERT_NE(timings, nullptr) << judged.said;
  EXPECT_LT(number_at(*timings, "total"), 1e3 * most_seconds(adversary)) << judged.said;
  EXPECT_EQ(joined(survivors(marker)), "");
}

void expect_that_honest_work_goes_on(TestWorld& world) {
  Adversary honest{.file = fs::path(SPECGEN_SOURCE_DIR) / "tasks/softmax/baseline.cc",
                   .name = "baseline",
                   .what = "honest",
                   .task = "tasks/softmax",
                   .verdict = "ok"};
  constexpr int kTries = 4;  // a machine that others use may be too unsteady to time
  std::string verdict;
  for (int i = 0; i < kTries && (verdict.empty() || verdict == "unstable_timing"); ++i) {
    verdict = judge(world, honest, "cpu:0").verdict();
  }
  EXPECT_EQ(verdict, "ok");
}

class PoisonedCandidate : public testing::TestWithParam<Adversary> {};
TEST_P(PoisonedCandidate, does_no_harm) {
  TestWorld world;
  expect_harmless(world, GetParam());
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

TEST(Poisons, leave_nothing_to_the_next_evaluation) {
  std::vector<Adversary> all = adversaries("poison", ".cc");
  TestWorld world;
  for (const char* name : {"fork_bomb", "kills_all", "stops_itself", "sleeps_for_ever",
                           "closes_everything", "smashes_stack", "output_flood"}) {
    expect_harmless(world, named(all, name));
  }
  expect_that_honest_work_goes_on(world);
}

class WeakSandbox : public testing::TestWithParam<std::string> {};
TEST_P(WeakSandbox, holds_a_handful_of_poisons_as_well) {
  std::vector<Adversary> all = adversaries("poison", ".cc");
  const std::vector<std::string> flags{"--sandbox-at-most", GetParam()};
  TestWorld world;
  Judged level = judge(world, named(all, "syntax_error"), "cpu:0", flags);
  if (text_at(level.evaluation, "sandbox") != GetParam()) {
    GTEST_SKIP() << "NOT CHECKED: this host does not allow " << GetParam() << ": " << level.said;
  }
  for (const char* name : {"fork_bomb", "kills_all", "kills_parent", "daemon", "stops_itself",
                           "endless_loop", "endless_recursion", "output_flood", "huge_table"}) {
    SCOPED_TRACE(name);
    expect_harmless(world, named(all, name), flags);
  }
  expect_that_honest_work_goes_on(world);
}
INSTANTIATE_TEST_SUITE_P(Levels, WeakSandbox, testing::Values("L1", "L2"),
                         [](const auto& info) { return info.param; });

// Sources that are better made than kept.
class MadeSource : public testing::Test {
 protected:
  void expect_rejected(std::string_view text) {
    fs::path file = folder_.path() / "candidate.cc";
    ASSERT_TRUE(write_file_durably(file, text));
    expect_harmless(world_, {.file = file,
                             .name = "candidate",
                             .what = "made",
                             .task = "tasks/softmax",
                             .verdict = "rejected"});
  }
  FakeTools folder_;
  TestWorld world_;
};

TEST_F(MadeSource, of_ten_megabytes_is_rejected) {
  std::string text = "#include <cstdint>\n";
  while (text.size() < (10U << 20U))
    text += "static const int64_t kNumber = 1;  // again and again\n";
  expect_rejected(text);
}

TEST_F(MadeSource, of_binary_garbage_is_rejected) {
  std::string text;
  for (unsigned i = 0; i < 4096; ++i) text += static_cast<char>(i * 167U + (i >> 3U));
  expect_rejected(text);
}

TEST_F(MadeSource, with_a_nul_byte_is_rejected) {
  expect_rejected(std::string_view("int a;\0#include \"/etc/passwd\"\n", 30));
}

TEST_F(MadeSource, without_anything_in_it_is_rejected) {
  expect_rejected("");
}

TEST_F(MadeSource, of_nothing_but_directives_is_rejected_or_lacks_its_function) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "// specgen:tune A = 1, 2, 3, 4\n";
  expect_rejected(text);
}

}  // namespace
}  // namespace specgen
